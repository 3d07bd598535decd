"""Confinement: a process permanently gives up all rights that its step doesn't need."""
