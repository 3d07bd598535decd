"""Accesses to memory: finding the place, loads, stores, atomics and copies."""
