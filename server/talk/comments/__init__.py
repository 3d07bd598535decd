"""Comments on submissions: questions of students, answers and remarks of course staff."""
