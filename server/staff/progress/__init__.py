"""How far the students of a course are, and what stops them."""
