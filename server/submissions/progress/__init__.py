"""How far a submission is: read from the database, followed by hints, sent as events."""
