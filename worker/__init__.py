"""Workers, which grade submissions: the sandbox for students' code, the GPU, and the commands."""
