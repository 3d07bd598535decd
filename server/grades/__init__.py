"""Grades: how rules, speed, lateness, a rubric and corrections make points."""
