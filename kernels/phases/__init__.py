"""The course's table of execution phases: what each thread does in each phase of a tiled kernel.

`table` makes one on the CPU device. Showing one doesn't load the device.
"""
