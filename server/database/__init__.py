"""The database: what all tables share, connections, and the version of the schema."""
