"""Demo account that looks as if it had been in use for a while. `flask seed` makes it."""
