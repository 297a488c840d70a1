"""The OpenAPI document, built from the API's forms, lists and answers."""
