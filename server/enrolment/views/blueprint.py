"""The blueprint of the enrolment pages."""

from __future__ import annotations

from flask import Blueprint

enrolment = Blueprint("enrolment", "server.enrolment", template_folder="templates")
