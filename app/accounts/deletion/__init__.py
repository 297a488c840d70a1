"""Deletion of accounts, and of everything that belongs to them."""
