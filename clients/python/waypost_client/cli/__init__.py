"""The command `way`."""
