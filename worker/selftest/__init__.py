"""The self-test of a worker: kernels whose verdicts are known, graded by the same steps as any other."""
