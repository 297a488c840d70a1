"""Pages for admins, and the audit log."""
