"""What the counts of a kernel mean: per line and in sum, beside theory, on the hardware, and what to look at first."""
