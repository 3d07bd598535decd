"""The course's portal as a program sees it: over HTTP, with the standard library alone, so that any machine can ask."""
