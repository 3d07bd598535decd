"""What watches a kernel while it runs, one check a file."""
