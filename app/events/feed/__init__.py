"""The feed of events: one order of all that is told in a workspace, read by cursors."""
