"""The verbs for work on a kernel, on this machine alone."""
