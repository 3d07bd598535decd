"""Run `tilelab` as `python -m worker.commands`, for programs that start it with their own interpreter."""

from __future__ import annotations

from worker.commands import main

main()
