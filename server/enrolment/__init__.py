"""How people come into courses: codes, links, and whose accounts the staff may touch."""
