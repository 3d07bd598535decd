"""The fleet: the workers that grade."""
