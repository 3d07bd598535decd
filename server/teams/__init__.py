"""Teams of students who submit together."""
