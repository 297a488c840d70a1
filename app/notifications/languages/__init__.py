"""What is a message called in other languages than English? A file each, named by its tag."""
