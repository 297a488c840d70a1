"""Tracking pixels and their providers."""
