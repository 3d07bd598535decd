"""Submissions of several students that are identical or similar."""
