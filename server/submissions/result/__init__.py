"""One submission's page: its verdict and its report."""
