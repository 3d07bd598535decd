"""Operators' work on the whole database: backups, restoring, metrics, erasing a person."""
