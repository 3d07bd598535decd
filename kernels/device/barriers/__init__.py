"""Who waits for whom: barriers of blocks, of their parts and of warps."""
