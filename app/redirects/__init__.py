"""Redirects: from a request to the answer for a visitor."""
