"""Share addresses: statistics that an owner shows to people without an account."""
