"""A course's own exercises: uploaded, edited, proved by grading their solution, and stored by version."""
