"""What a student pastes, before it is read as a kernel: decoded, repaired on request, without its host code."""
