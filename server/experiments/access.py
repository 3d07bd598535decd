"""Refusals of experiments, the same for pages and programs."""

from __future__ import annotations

from datetime import timedelta

from server.accounts.limits import Limit
from server.experiments.estimate import Estimate
from server.experiments.plans import UnfitExperiment
from server.experiments.quota import EXPERIMENTS_A_DAY, POINTS_A_DAY
from server.experiments.service import LargeExperiment, QuotaUsed, TooManyRunning
from server.http.numbers import duration
from server.http.problems import Refused

STARTS = Limit("experiment", 20, timedelta(minutes=1))
"""Requests to start an experiment by one person: each may check thousands of points."""


def refused(error: UnfitExperiment | QuotaUsed | TooManyRunning | LargeExperiment) -> Refused:
    """The answer to an experiment that doesn't start."""
    if isinstance(error, LargeExperiment):
        text = f"{estimate_text(error.estimate)} Nothing started without `confirm`."
        return Refused(409, "large_experiment", "This experiment is large", text)
    if isinstance(error, QuotaUsed):
        return Refused(403, "quota_used", "Your quota is used", quota_text(error))
    if isinstance(error, TooManyRunning):
        return Refused(409, "too_many_running", "Too many running experiments", str(error))
    where = f"`{error.field}`: " if error.field else ""
    return Refused(422, "invalid", "The experiment can't run", f"{where}{error.sentence}", {}, error.sentence)


def estimate_text(found: Estimate) -> str:
    """How large an experiment is, and by what that is known."""
    return f"It has {found.points:,} points, about {duration(found.seconds)}, judging by {found.judged_by}."


def quota_text(error: QuotaUsed) -> str:
    """What is used, and when it renews."""
    renews = error.quota.renews_at
    when = "" if renews is None else f" The next one is possible at {renews:%H:%M} UTC on {renews:%d %b}."
    return f"{error} The quota is {EXPERIMENTS_A_DAY} experiments and {POINTS_A_DAY} points in 24 hours.{when}"
