"""The blueprint of the pages on which people come in."""

from __future__ import annotations

from flask import Blueprint

enrolment = Blueprint("enrolment", "server.enrolment", template_folder="templates")
