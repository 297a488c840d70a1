"""Reading of input from any edge: parsers, fields, forms, lists."""
