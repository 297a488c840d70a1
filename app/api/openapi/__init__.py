"""How does the API describe itself? From the forms, lists and answers that it is made of."""
