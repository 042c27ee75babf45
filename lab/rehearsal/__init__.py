"""Plays site.yml with the inventory of a user against SIMULATED devices, in a network namespace without a way out."""
