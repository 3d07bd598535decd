"""Instructions of the tensor cores: matrices that the threads of a warp hold together in their registers."""
