"""People and their accounts: signing in, passwords, tokens, names."""
