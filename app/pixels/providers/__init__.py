"""Providers of tracking pixels, one file a type."""
