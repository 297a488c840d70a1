"""Secret keys of the instance, and their rotation."""
