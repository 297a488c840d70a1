"""Analytics: ingest of the journal, roll-ups and statistics."""
