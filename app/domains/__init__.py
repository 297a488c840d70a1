"""Domains of owners, and the proofs that they hold them."""
