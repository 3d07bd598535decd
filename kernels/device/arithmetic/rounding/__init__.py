"""Roundings that numpy doesn't have, bit-exact."""
