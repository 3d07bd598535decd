"""The counts of a run, and how they are added up."""
