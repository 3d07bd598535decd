"""The runs of a job, and whether their results are correct."""
