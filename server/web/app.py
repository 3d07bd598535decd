"""The web application for browsers and programs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask
from flask.json.provider import DefaultJSONProvider
from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, PrefixLoader
from werkzeug.middleware.proxy_fix import ProxyFix

from server.accounts.access import attach_view_as, zone_of_viewer
from server.accounts.cookies import attach_form_guard
from server.accounts.device_login_api import device_logins
from server.accounts.device_login_views import device_login_pages
from server.accounts.identity import owner_of
from server.accounts.views import accounts
from server.assignments.api import assignments
from server.assignments.command_line import command_line
from server.assignments.extension_request_views import extension_pages
from server.assignments.trial_views import trials
from server.assignments.views import courses
from server.courses.api import me
from server.courses.frame import attach_frame
from server.courses.service import CourseError
from server.courses.staff_api import refused_change
from server.courses.staff_views import new_courses
from server.enrolment.views import enrolment
from server.experiments.api import experiments
from server.experiments.views import experiments_pages
from server.fields import answer_json
from server.history.views import history_pages
from server.http.arrival import REQUEST_BYTES, BodySizes
from server.http.concurrency_limit import attach_concurrency_limit
from server.http.numbers import attach_numbers
from server.http.problems import answer_errors, log_fault
from server.http.site import attach_site
from server.lti.choice_views import lti_choice
from server.lti.platform_views import lti_platforms, lti_registration
from server.lti.views import attach_lti, lti
from server.mail.views import attach_mail, mail_pages
from server.operations.api import metrics
from server.operations.own_data_views import own_data_pages
from server.operations.views import fleet
from server.regrades.request_views import request_pages
from server.roster.view_as import view_as
from server.settings import Settings
from server.sign_on.views import attach_sign_on, sign_on
from server.standings.api import leaderboards
from server.standings.views import standings_pages
from server.submissions.api import submissions
from server.submissions.progress.live import attach_live
from server.submissions.views import submissions_pages
from server.talk.announcement_api import announcements
from server.talk.announcement_views import announcement_pages
from server.talk.comment_api import comments
from server.talk.comment_views import comment_pages
from server.talk.news_views import news_pages
from server.teams.views import team_pages
from server.web.access_log import attach_routes
from server.web.assets import attach_assets
from server.web.headers import add_headers, attach_compression
from server.web.health import health
from server.web.notices import attach_notices
from server.web.openapi import description
from server.web.pages import pages
from server.web.staff import staff, staff_api

_PAGES = (
    pages, accounts, device_login_pages, sign_on, enrolment, courses, command_line, staff, new_courses, fleet,
    standings_pages, history_pages, submissions_pages, experiments_pages, announcement_pages, comment_pages,
    news_pages, request_pages, extension_pages, team_pages, trials, mail_pages, own_data_pages, health, metrics,
    lti, lti_choice, lti_platforms, lti_registration,
)  # fmt: skip
_API = (
    submissions, leaderboards, experiments, device_logins, me, assignments, announcements, comments, staff_api,
    description,
)  # fmt: skip


class _Json(DefaultJSONProvider):
    """JSON of data classes, with times in ISO 8601. Fields stay in their order."""

    default = staticmethod(answer_json)
    sort_keys = False


class _Application(Flask):
    json_provider_class = _Json

    def log_exception(self, exc_info: Any) -> None:
        """Log like every system error; the framework would log the whole address with its secrets."""
        log_fault(exc_info[1])


def _templates() -> BaseLoader:
    """A room's templates by its name, as in "grades/grade.html"; those that all pages share by their own."""
    server = Path(__file__).parents[1]
    rooms = {folder.parent.name: FileSystemLoader(folder) for folder in server.glob("*/templates")}
    return ChoiceLoader([FileSystemLoader(server / "web/templates"), PrefixLoader(rooms)])


def create_app(settings: Settings) -> Flask:
    """Create the application. It opens no connection, so that it starts and reports its health without a database.

    raise (DatabaseUnavailable): the database's address is invalid
    """
    app = _Application("server.web", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = REQUEST_BYTES
    app.jinja_loader = _templates()
    site = attach_site(app, settings)
    attach_concurrency_limit(app, BodySizes(), partial(owner_of, site))
    attach_live(app, site)
    attach_proxies(app, settings)
    answer_errors(app)
    app.register_error_handler(CourseError, refused_change)
    add_headers(app)
    if settings.access_log:
        attach_routes(app)
    attach_compression(app)
    attach_assets(app)
    attach_form_guard(app)
    attach_view_as(app, view_as)
    attach_numbers(app, zone_of_viewer)
    attach_notices(app)
    attach_sign_on(app, settings.sign_on)
    attach_lti(app)
    attach_mail(app)
    attach_frame(app)
    for blueprint in _PAGES:
        app.register_blueprint(blueprint)
    for blueprint in _API:
        app.register_blueprint(blueprint, url_prefix="/api/v1")
    return app


def attach_proxies(app: Flask, settings: Settings) -> None:
    """Read the client's address and scheme from the headers that trusted proxies add.

    Without proxies, clients control these headers: a password guesser could change address with each try.
    """
    if settings.proxies:
        known = settings.proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=known, x_proto=known, x_host=0)  # type: ignore[method-assign]
