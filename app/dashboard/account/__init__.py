"""Pages of an owner's own account."""
