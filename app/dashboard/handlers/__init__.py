"""Pages of notification handlers and their deliveries."""
