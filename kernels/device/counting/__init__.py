"""What a counted run counts, and how it adds it up."""
