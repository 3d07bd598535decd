"""The database: base classes of tables, connections, and the schema's version."""
