"""In each room, pages and API stand on rules, rules on tables: what isn't a page or an API knows nothing of HTTP."""

from __future__ import annotations

from fnmatch import fnmatch

import grimp

_ANSWERING = ("*views", "*api", "access", "page", "*_form", "staff_pages")
"""The names of modules that answer requests, in any room."""
_ALSO = frozenset(
    "server." + name
    for name in (
        "accounts.cookies", "accounts.identity", "accounts.zones", "assignments.command_line", "assignments.form",
        "assignments.tasks", "courses.frame", "experiments.answers", "experiments.new_experiment",
        "experiments.submitted_kernels", "roster.view_as", "submissions.answers", "submissions.new_submission",
        "submissions.progress.live", "submissions.progress.streams", "submissions.queries", "submissions.result.worth",
    )
)  # fmt: skip
_FRONT = ("server.commands", "server.http", "server.up", "server.web")


def test_only_what_answers_requests_knows_of_http():
    graph = grimp.build_graph("server")
    answering = {
        module
        for module in graph.modules
        if module.startswith(_FRONT)
        or module in _ALSO
        or any(fnmatch(module.rpartition(".")[2], n) for n in _ANSWERING)
    }
    rules = graph.modules - answering - {"server"}
    assert len(rules) > 100
    knowing = {
        (module, imported)
        for module in rules
        for imported in graph.find_modules_directly_imported_by(module)
        if imported in answering
    }
    assert not knowing
    assert not {module for module in _ALSO if module not in graph.modules}
