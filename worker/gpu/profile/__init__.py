"""Profiles of one launch with Nsight Compute."""
