"""The compilation of a student's text, its log and its output."""
