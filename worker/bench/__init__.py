"""A benchmark for workers, which grades many submissions of known kernels in parallel."""
