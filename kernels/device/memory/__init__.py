"""Memory as a kernel sees it: windows, places, loads, stores, atomics and copies."""
