"""Translations of messages, one file a language, named by its tag. English is in the code."""
