"""The web application, and the process that serves it."""
