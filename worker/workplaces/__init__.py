"""Workplaces, which run a slot's steps on this machine's CPU or on one GPU."""
