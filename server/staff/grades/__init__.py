"""A course's grades: the table and its export."""
