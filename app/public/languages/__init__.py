"""Which languages do visitors' pages speak? One file each."""
