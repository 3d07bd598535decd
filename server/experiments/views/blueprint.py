"""The blueprint of the pages of experiments."""

from __future__ import annotations

from flask import Blueprint

experiments_pages = Blueprint("experiments_pages", "server.experiments", template_folder="templates")
