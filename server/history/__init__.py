"""What somebody handed in over time: all attempts, which one counts, and what changed from one to another."""
