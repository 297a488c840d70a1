"""Trash: deleted rows, which can be restored for a while."""
