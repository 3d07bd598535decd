"""What server and workers share: messages, the broker they go over, claims, the workers' board, and how both log."""
