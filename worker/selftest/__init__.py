"""The self-test of a worker: grades kernels with known verdicts in the same way as submissions."""
