"""Courses: created in the portal, copied to the next term, deleted."""
