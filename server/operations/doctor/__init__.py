"""What is wrong with a deployment: one line for each check."""
