"""How similar the sources of independent people are, beyond what many of them share."""
