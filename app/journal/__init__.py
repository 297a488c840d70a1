"""Append-only journal of clicks."""
