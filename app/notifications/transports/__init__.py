"""Transports, one file a type."""
