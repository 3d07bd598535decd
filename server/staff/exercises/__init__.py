"""Exercises that belong to a course: upload, edit, prove, publish."""
