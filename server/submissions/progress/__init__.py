"""The progress of submissions: read from the database, refined by workers' hints, sent as events."""
