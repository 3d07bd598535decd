"""How fast a worker is: many submissions of known kernels graded at once."""
