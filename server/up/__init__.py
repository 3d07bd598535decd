"""`tilelab up`: the whole server on one machine, with the same parts as on several machines."""
