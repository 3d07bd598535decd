"""An assignment for one person: tasks, its page, and the form to submit."""
