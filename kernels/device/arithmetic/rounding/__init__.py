"""Roundings that numpy does not have, exact to the bit."""
