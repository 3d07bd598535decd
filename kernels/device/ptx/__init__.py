"""Parse PTX into one flat program, and analyse it without running it."""
