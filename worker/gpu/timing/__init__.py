"""How fast a launch is, and whether the figure can be true."""
