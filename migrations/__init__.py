"""Changes of the tables, one file for each, run by server.database.schema."""
