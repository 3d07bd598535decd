"""Every page that has a picture. One of the access matrix has it by that; a further state of it is added here.

An address may name what the demo course has, and {race} and {right} for a submission of each kind, graded. `who` is
nobody (""), or the role of somebody in it: student, instructor. Pages marked `measured` are those of a course in which
a GPU measured, whose student is ada and whose instructor is ina; there an address may name what tests/browser/states.py
brought, by who handed it in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.server.web.matrix import routes


@dataclass(frozen=True, slots=True)
class Shown:
    """name: of the picture's file; typed: into its form, by the fields' names, before that is sent.

    saved: whether it is no page of the portal, but a file that its readers keep
    """

    name: str
    address: str
    who: str = ""
    measured: bool = False
    typed: tuple[tuple[str, str], ...] = ()
    status: int = 200
    saved: bool = False


def _state(name: str, address: str, who: str, *typed: tuple[str, str], status: int = 0) -> Shown:
    """A page of the other course. A form with mistakes is unprocessable."""
    return Shown(name, address, who, measured=True, typed=typed, status=status or (422 if typed else 200))


_STATES = (
    Shown("sign-in", "/sign-in"),
    Shown("join", "/join"),
    Shown("account-profile", "/account", "student"),
    Shown("account-password", "/account/password", "student"),
    Shown("account-sessions", "/account/sessions", "student"),
    Shown("account-tokens", "/account/tokens", "student"),
    Shown("account-data", "/account/data", "student"),
    _state("lti-connect", "/lti/launches/connect", "ina"),
    _state("lti-choose", "/lti/launches/choose/choose", "ina"),
    _state("login-asked", "/login", "ada", ("code", "bcdf-ghjk"), status=200),
    _state("login-wrong", "/login", "ada", ("code", "x")),
    _state("staff-retention-set", "/staff/gpu/retention", "ina", ("days", "365"), status=200),
    _state("lti-platforms-wrong", "/lti/platforms", "root", ("issuer", ""), ("token", "http://x.example")),
    Shown("start", "/"),
    Shown("home", "/", "student"),
    Shown("course", "/courses/demo/", "student"),
    Shown("command-line", "/courses/demo/command-line?assignment=tiled", "student"),
    Shown("assignment", "/courses/demo/tiled/", "student"),
    Shown("assignment-race", "/courses/demo/tiled/?from={race}", "student"),
    Shown("result-race", "/submissions/{race}", "student"),
    Shown("result-right", "/submissions/{right}", "student"),
    Shown("board", "/courses/gpu/tiled/board/", "ada", measured=True),
    Shown("history", "/courses/gpu/tiled/history", "ada", measured=True),
    Shown("staff-overview", "/staff/demo/", "instructor"),
    Shown("staff-roster", "/staff/demo/roster", "instructor"),
    Shown("staff-import", "/staff/demo/roster/import", "instructor"),
    Shown("staff-assignments", "/staff/demo/assignments", "instructor"),
    Shown("staff-new-assignment", "/staff/demo/assignments/new", "instructor"),
    Shown("staff-assignment", "/staff/demo/assignments/tiled", "instructor"),
    Shown("staff-submissions", "/staff/demo/submissions", "instructor"),
    Shown("staff-regrade", "/staff/demo/regrade", "instructor"),
    Shown("staff-grades", "/staff/demo/grades", "instructor"),
    Shown("staff-audit", "/staff/demo/audit", "instructor"),
    Shown("staff-settings", "/staff/demo/settings", "instructor"),
    Shown("fleet", "/fleet", "instructor"),
    *(
        _state(f"submission-{name}", f"/submissions/{{{name}}}", name)
        for name in ("queued", "checking", "measuring", "again", "stopped", "fault", "wrong", "measured")
    ),
    Shown("report", "/submissions/{measured}/report.html", "measured", measured=True, saved=True),
    _state("submission-as-staff", "/submissions/{queued}", "ina"),
    _state("assignment-measured", "/courses/gpu/tiled/", "ada"),
    _state(
        "assignment-repairable", "/courses/gpu/tiled/", "ada", ("source", "```\nint\u00a0a; // \u201cours\u201d\n```\n")
    ),
    _state("assignment-late-days", "/courses/gpu/tiled/", "ada", ("source", "int a;\n"), ("mode", "rank"), status=409),
    _state("try", "/courses/gpu/tiled/try", "ada"),
    _state("comparison", "/courses/gpu/tiled/compare?left={former}&right={latter}", "ada"),
    _state("vary-tile", "/submissions/{latter}/vary?what=tile", "ada"),
    _state("vary-size", "/submissions/{latter}/vary?what=size", "ada"),
    _state("vary-wrong", "/submissions/{latter}/vary?what=size", "ada", ("values", "1:100")),
    _state("experiment", "/experiments/{finished}", "ada"),
    _state("experiment-running", "/experiments/{running}", "ada"),
    _state("experiment-as-staff", "/experiments/{finished}", "ina"),
    _state("experiments-of-a-student", "/courses/gpu/experiments", "ada"),
    _state("experiments-empty", "/courses/void/experiments", "eve"),
    _state("home-late", "/", "ada"),
    _state("home-staff", "/", "ina"),
    _state("home-empty", "/", "outside"),
    _state("home-invited", "/", "slow"),
    _state("staff-roster-invited", "/staff/bare/roster", "ina"),
    _state("join-signed-in", "/join", "outside"),
    _state("course-empty", "/courses/void/", "eve"),
    _state("board-empty", "/courses/bare/tiled/board/h200", "eve"),
    _state("board-frozen", "/courses/bare/frozen/board/h200", "eve"),
    _state("board-nobody-found", "/courses/gpu/tiled/board/h200?q=nobody+is+called+so", "ada"),
    _state("board-as-staff", "/courses/gpu/tiled/board/h200", "ina"),
    _state("team", "/courses/bare/paired/team", "eve"),
    _state("staff-assignment-teams", "/staff/bare/assignments/paired", "ina"),
    _state("history-empty", "/courses/bare/tiled/history", "eve"),
    _state("staff-overview-busy", "/staff/gpu/", "ina"),
    _state("staff-overview-empty", "/staff/void/", "ina"),
    _state("staff-assignments-empty", "/staff/void/assignments", "ina"),
    _state("staff-assignment-outdated", "/staff/bare/assignments/older", "ina"),
    _state("staff-update", "/staff/bare/assignments/older/update", "ina"),
    _state("staff-submissions-measured", "/staff/gpu/submissions", "ina"),
    _state("staff-submissions-empty", "/staff/void/submissions", "ina"),
    _state("staff-submissions-unreadable", "/staff/gpu/submissions?since=junk", "ina", status=422),
    _state("staff-regrade-empty", "/staff/void/regrade", "ina"),
    _state("staff-regrades", "/staff/gpu/regrades", "ina"),
    _state("staff-grades-empty", "/staff/void/grades", "ina"),
    _state("news", "/news", "ada"),
    _state("announcements", "/courses/gpu/announcements", "ada"),
    _state("staff-announcements", "/staff/gpu/announcements", "ina"),
    _state("comments", "/submissions/{latter}/comments", "ada"),
    _state("comments-as-staff", "/submissions/{latter}/comments?line=2", "ina"),
    _state("comments-wrong", "/submissions/{latter}/comments", "ada", ("line", "x"), ("text", " ")),
    _state("request", "/submissions/{latter}/request", "ada"),
    _state("request-wrong", "/submissions/{measured}/request", "measured", ("reason", " ")),
    _state("staff-requests", "/staff/gpu/requests", "ina"),
    _state("staff-requests-empty", "/staff/void/requests", "ina"),
    _state("staff-request", "/staff/gpu/requests/{request}", "ina"),
    _state("staff-request-wrong", "/staff/gpu/requests/{request}", "ina", ("way", "refuse"), ("answer", " ")),
    _state("extension", "/courses/gpu/tiled/extension", "ada"),
    _state("extension-wrong", "/courses/gpu/tiled/extension", "measured", ("wanted", ""), ("reason", " ")),
    _state("staff-extension-request", "/staff/gpu/extension-requests/{extension}", "ina"),
    _state(
        "staff-extension-request-wrong",
        "/staff/gpu/extension-requests/{extension}",
        "ina",
        ("way", "refuse"),
        ("answer", " "),
    ),
    _state("staff-questions", "/staff/gpu/questions", "ina"),
    _state("staff-questions-empty", "/staff/void/questions", "ina"),
    _state("staff-announcement", "/staff/gpu/announcements/{announcement}", "ina"),
    _state("staff-announcement-wrong", "/staff/gpu/announcements", "ina", ("title", ""), ("text", "")),
    _state("announcements-empty", "/courses/void/announcements", "eve"),
    _state("staff-announcements-empty", "/staff/void/announcements", "ina"),
    _state("staff-student", "/staff/gpu/students/{ada}", "ina"),
    _state("staff-timeline", "/staff/gpu/students/{ada}/timeline", "ina"),
    _state("staff-student-wrong", "/staff/gpu/students/{ada}", "ina", ("note", " ")),
    _state("staff-progress", "/staff/gpu/progress", "ina"),
    _state("staff-progress-empty", "/staff/void/progress", "ina"),
    _state("staff-progress-assignment", "/staff/gpu/progress/tiled", "ina"),
    _state("staff-progress-students", "/staff/gpu/progress/tiled/students?part=failing", "ina"),
    _state("staff-rubric", "/staff/gpu/rubric/tiled", "ina"),
    _state("staff-rubric-empty", "/staff/bare/rubric/older", "ina"),
    _state("staff-rubric-wrong", "/staff/gpu/rubric/tiled", "ina", ("title_0", ""), ("most_0", "many")),
    _state("staff-grading", "/staff/gpu/grading/tiled/{code}", "ina"),
    _state("staff-grading-overview", "/staff/gpu/grading/tiled", "ina"),
    _state("rubric", "/submissions/{counts}", "slow"),
    _state("rubric-as-staff", "/submissions/{counts}", "ina"),
    _state("staff-similar", "/staff/gpu/similar/tiled", "ina"),
    _state("staff-similar-empty", "/staff/bare/similar/older", "ina"),
    _state("staff-similar-pair", "/staff/gpu/similar/tiled/pair?left={original}&right={copy}", "ina"),
    _state("staff-exercise-published", "/staff/bare/exercises/own", "ina"),
    _state("staff-exercise-newer", "/staff/bare/assignments/own", "ina"),
    _state("staff-exercise-staged", "/staff/bare/regrades/staged/staged", "ina"),
    _state("staff-catalogue", "/staff/gpu/catalogue", "ina"),
    _state("staff-catalogue-exercise", "/staff/gpu/catalogue/bank-conflicts", "ina"),
    _state("staff-practice", "/staff/gpu/practice", "ina"),
    _state("staff-exercises", "/staff/gpu/exercises", "ina"),
    _state("staff-exercises-empty", "/staff/void/exercises", "ina"),
    _state("staff-view-as", "/courses/gpu/tiled/", "ina as ada"),
    _state("staff-view-as-refused", "/staff/gpu/", "ina as ada", status=403),
    _state("staff-audit-filled", "/staff/gpu/audit", "ina"),
    _state("fleet-away", "/fleet", "root"),
    _state("fleet-audit", "/fleet/audit", "root"),
    _state("no-page", "/nothing", "ada", status=404),
    _state("not-for-students", "/staff/gpu/", "ada", status=403),
    _state("link-used", "/invitation/none", "", status=404),
    _state("sign-in-wrong", "/sign-in", "", ("email", "x@example.edu"), ("password", "not it")),
    _state("join-wrong", "/join", "", ("code", "none"), ("name", ""), ("email", "x"), ("password", "x")),
    _state("profile-wrong", "/account", "ada", ("name", ""), ("pseudonym", "<b>")),
    _state("password-wrong", "/account/password", "ada", ("present", "x"), ("password", "x"), ("again", "y")),
    _state("tokens-wrong", "/account/tokens", "ada", ("name", "")),
    _state("staff-roster-wrong", "/staff/gpu/roster", "ina", ("email", "x"), ("name", "")),
    _state("staff-import-wrong", "/staff/gpu/roster/import", "ina", ("text", "who\nx\n")),
    _state(
        "staff-import-canvas",
        "/staff/gpu/roster/import",
        "ina",
        (
            "text",
            'Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n"Lovelace, Ada",1,00123,ada,A1\n',
        ),
        ("domain", "example.edu"),
        status=200,
    ),
    _state("staff-new-assignment-wrong", "/staff/gpu/assignments/new", "ina", ("slug", "A B"), ("points", "many")),
    _state("staff-assignment-wrong", "/staff/gpu/assignments/tiled", "ina", ("title", ""), ("points", "many")),
    _state("staff-extension-wrong", "/staff/gpu/assignments/tiled", "ina", ("extra_attempts", "many")),
    _state(
        "staff-extension-import",
        "/staff/gpu/assignments/tiled/extensions/import",
        "ina",
        ("text", "email,due,reason\nada@example.edu,2099-05-02T12:00,was ill\nmeasured@example.edu,2099-05-03T12:00"),
        status=200,
    ),
    _state(
        "staff-extension-import-wrong",
        "/staff/gpu/assignments/tiled/extensions/import",
        "ina",
        ("text", "email,due\nada@example.edu,soon\n?,\n"),
    ),
    _state("staff-delete-assignment", "/staff/bare/assignments/frozen/delete", "ina"),
    _state("staff-delete-assignment-refused", "/staff/gpu/assignments/tiled/delete", "ina"),
    _state("staff-delete-course", "/staff/void/delete", "ina"),
    _state("staff-delete-course-refused", "/staff/gpu/delete", "ina"),
    _state("staff-copy", "/staff/gpu/copy", "root"),
    _state("staff-copy-wrong", "/staff/gpu/copy", "root", ("slug", "gpu"), ("days", "many")),
    _state("new-course", "/new-course", "root"),
    _state("new-course-wrong", "/new-course", "root", ("slug", "A B")),
    _state("staff-settings-wrong", "/staff/gpu/settings", "ina", ("title", "")),
)

_MEANT = {"demo": "gpu", "bare": "gpu", "void": "gpu", "older": "tiled", "frozen": "tiled"}
_NO_PAGES = ("keys", "healthz", "readyz", "metrics", "state", "events", "lines")
_WHO = {"nobody": "", "owner": "ada", "instructor": "ina", "admin": "root"}


def _others() -> Iterator[Shown]:
    """Pages of the access matrix that are not above, as the first who may see them does."""
    above = {_in_matrix(each.address) for each in _STATES}
    for method, address, _, gets in routes():
        path = address.partition("?")[0]
        last = path.rstrip("/").rpartition("/")[2]
        is_page = not path.startswith("/api/") and "." not in last and last not in _NO_PAGES
        who = next((name for role, name in _WHO.items() if gets[role] == 200), None)
        if method == "GET" and is_page and path == path.lower() and path not in above and who is not None:
            yield _state("-".join(path.strip("/").split("/")), address, who)


def _in_matrix(address: str) -> str:
    """As the matrix has it."""
    parts = address.partition("?")[0].split("/")
    return "/".join("SUBMISSION" if part.startswith("{") else _MEANT.get(part, part) for part in parts)


PAGES = (*_STATES, *_others())
