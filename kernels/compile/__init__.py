"""One compilation of a student's text, and what its log and its output say."""
