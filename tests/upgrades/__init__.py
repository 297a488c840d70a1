"""Upgrades of data directories of earlier releases, which `releases/` keeps."""
