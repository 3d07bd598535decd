"""What a student pastes, before it is read as a kernel: decoded, without its host code."""
