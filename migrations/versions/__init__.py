"""The changes, from the first on."""
