"""A look at one launch under Nsight Compute."""
