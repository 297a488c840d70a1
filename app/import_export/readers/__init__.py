"""Readers of the files that owners bring, one file a format."""
