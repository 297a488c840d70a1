"""Texts of visitors' pages, one file a language, named by its tag."""
