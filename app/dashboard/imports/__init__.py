"""Pages of imports and exports."""
