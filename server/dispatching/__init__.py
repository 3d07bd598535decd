"""The dispatcher: which steps are sent to workers, and which are taken back."""
