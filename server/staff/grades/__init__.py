"""A course's grades: table and export."""
