"""What answers browsers and programs: the application, its errors, who asks, and its own process."""
