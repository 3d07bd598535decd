"""The page of an analysis or a report: one HTML file that loads nothing else.

Only this part of `kernels` imports Jinja, and no other part imports this one. So grading doesn't pay for it.
"""
