"""Subscriptions: handlers that programs make and end by themselves, as REST hooks."""
