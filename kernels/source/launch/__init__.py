"""The launch of a file: its launch comment, its tile, and the question if neither can be known."""
