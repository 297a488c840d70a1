"""Accounts: sign-in, sessions, two-factor authentication, API keys."""
