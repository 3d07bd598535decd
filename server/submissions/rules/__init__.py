"""How an assignment's settings make points of a kernel, and the tiers of speed."""
