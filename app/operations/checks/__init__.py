"""Checks that `flask doctor` runs."""
