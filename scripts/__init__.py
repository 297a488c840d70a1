"""Programs that are run by hand to renew vendored data."""
