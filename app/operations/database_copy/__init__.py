"""Copy of an instance's database to another one, of the other kind."""
