"""The application that answers browsers and programs, put together, and the process that serves it."""
