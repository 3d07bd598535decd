"""The pages of experiments."""

from __future__ import annotations

from server.experiments.views import experiment, new, variation
from server.experiments.views.blueprint import experiments_pages

__all__ = ["experiment", "experiments_pages", "new", "variation"]
