"""What is run by hand when something that the project carries is renewed."""
