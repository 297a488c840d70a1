"""Version of this program, written here alone."""

VERSION = "1.0.0"
