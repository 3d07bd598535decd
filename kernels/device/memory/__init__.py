"""Memory accesses: locating variables, loads, stores, atomics and copies."""
