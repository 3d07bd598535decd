"""The recorder: writes each result from a worker once, with its verdict and its place on leaderboards."""
