"""What a job runs, and whether what came out is right."""
