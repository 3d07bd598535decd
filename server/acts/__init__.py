"""A change by course staff, declared once: its form, its route of the API and its verb follow."""
