"""`tilelab up`: everything on one machine, as the same parts that run on many."""
