"""Notifications: handlers, deliveries and their transports."""
