"""Rate limits, counted for all processes together."""
