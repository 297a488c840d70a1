"""Outbound connections. All of them are made here."""
