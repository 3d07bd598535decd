"""Jobs: what is sent to workers when, and what becomes of it."""
