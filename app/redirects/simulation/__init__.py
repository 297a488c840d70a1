"""Simulation of a visit ("Try as visitor"), which counts nothing."""
