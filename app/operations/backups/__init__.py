"""Backups of an instance in one file, and restores from it."""
