"""The CPU device: reads PTX and runs it on numpy, one lane a thread."""
