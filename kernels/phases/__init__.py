"""The course's table of execution phases: what each thread does in each phase of a tiled kernel.

`table` fills one in, on the CPU device; to show one loads nothing of the device.
"""
