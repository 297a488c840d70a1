"""Clicks in ClickHouse: ingest, statistics, upkeep, erasure, and the copy of what SQL has."""
