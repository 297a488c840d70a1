"""Projects, by which links are sorted."""
