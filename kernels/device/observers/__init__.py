"""The search for data races, which observes a kernel while it runs."""
