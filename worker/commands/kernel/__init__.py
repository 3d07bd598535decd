"""Verbs that work on a kernel on this machine, without a portal."""
