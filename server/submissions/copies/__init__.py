"""Copies among submissions."""
