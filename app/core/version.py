"""Version of this program, written here alone."""

VERSION = "0.1.0"
