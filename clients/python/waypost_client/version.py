"""Version of this package, written here alone."""

VERSION = "0.1.0"
