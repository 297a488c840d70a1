"""Import and export of links and of whole accounts."""
