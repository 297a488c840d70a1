"""Worker: scheduled jobs and what runs beside them."""
