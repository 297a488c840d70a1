"""Audit log of accounts and of the instance."""
