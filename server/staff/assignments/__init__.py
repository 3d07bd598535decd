"""What the staff set: assignments, extensions, updates of exercises."""
