"""What a chunk of blocks is while it runs: its registers, masks, memory, and what its observers are told."""
