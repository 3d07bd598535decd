"""Code that server and workers share: messages, the broker, claims, workers' records, and logging."""
