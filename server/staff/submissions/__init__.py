"""A course's submissions: filtered, and graded again."""
