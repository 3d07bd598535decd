"""How a file is launched: its launch comment, its tile, and the question where neither can be known."""
