"""Wake-ups: processes and machines tell each other that there is something to read, so they poll rarely."""

# see docs/decisions/2026-11-25-wake-ups.md
