"""Who did what, for those who must know later."""
