"""Courses, their members, exercises and assignments."""
