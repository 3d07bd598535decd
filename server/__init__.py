"""The server: everything that sees the database."""
