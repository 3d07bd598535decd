"""The workers that the course has."""
