"""Settings, database, errors, secrets, logging: modules that know nothing of links."""
