"""Work on a whole instance: database, processes, backups, demo data."""
