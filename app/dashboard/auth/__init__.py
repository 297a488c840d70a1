"""Sign-in pages, sessions, and who may see which page."""
