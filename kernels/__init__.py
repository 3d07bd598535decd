"""What a kernel is, must do, and how it is judged: no web, no queue, no database, no environment."""
