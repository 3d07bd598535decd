"""The verbs that ask the portal of a course."""
