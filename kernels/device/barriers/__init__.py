"""Barriers: which threads of a block, a part of it or a warp wait for which others."""
