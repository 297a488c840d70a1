"""What pages of all subjects share."""
