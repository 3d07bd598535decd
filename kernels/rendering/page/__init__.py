"""The page of an analysis: one HTML file that needs nothing beside it.

The only part of `kernels` that knows Jinja; nothing else here imports it, so that grading does not pay for it.
"""
