"""Changes of the database tables, one file each. server.database.schema runs them."""
