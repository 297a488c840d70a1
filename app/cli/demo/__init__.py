"""What does an account look like that has been in use for a while? (`flask seed` makes one.)"""
