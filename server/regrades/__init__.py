"""Regrades: of one submission or many, at once or staged, and the requests of students."""
