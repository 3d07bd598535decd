"""The search for data races, which watches a kernel while it runs."""
