"""A PTX text, read into one flat program, and what can be known of it without running it."""
