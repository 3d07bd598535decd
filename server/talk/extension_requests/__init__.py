"""Extension requests of students."""
