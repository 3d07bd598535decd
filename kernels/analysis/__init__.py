"""The meaning of a kernel's counts: per line, in total, compared with theory, on the hardware, and as advice."""
