"""Geolocation of IP addresses, and the countries and continents of the world."""
