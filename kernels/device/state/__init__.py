"""The state of a chunk of blocks while it runs: registers, masks, memory and events for observers."""
