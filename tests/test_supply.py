"""What the lock files pin: no known vulnerability, fitting licences, whole bills of materials."""

from __future__ import annotations

import json
import re
from datetime import date
from email import message_from_string
from typing import Any

import pytest

from bin import supply
from bin.supply import (
    LOCKS,
    NPM,
    NPM_LOCKS,
    PYPI,
    ROOT,
    Package,
    affects,
    boms,
    declared,
    fits,
    problems,
    vulnerabilities,
)

FLASK = Package(PYPI, "flask", "1.5")


def advisory(*ranges: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    return {
        "id": "X-1", "ecosystem": PYPI, "name": "flask", "summary": "", "ranges": list(ranges), "versions": [], **more
    }  # fmt: skip


def test_nothing_is_wrong_with_what_is_locked():
    assert not problems(supply.locked())


def test_a_licence_is_recorded_for_each_locked_package_and_for_no_other():
    assert supply.known_licences().keys() == {(each.ecosystem, each.name) for each in supply.locked()}


def test_npm_packages_have_the_licences_of_their_lock_files():
    licences = supply.known_licences()
    for file in NPM_LOCKS:
        for place, entry in json.loads(file.read_text())["packages"].items():
            if place:
                assert licences[NPM, place.rpartition("node_modules/")[2]] == entry["license"]


@pytest.mark.parametrize(
    ("licence", "fit"),
    [
        ("MIT", True), ("GPL-3.0-only OR MIT", True), ("(Apache-2.0 AND MIT) OR GPL-2.0-only", True),
        ("(MIT OR GPL-3.0-only) AND ISC", True), ("(MIT OR GPL-3.0-only) AND AGPL-3.0-only", False),
        ("GPLv3 (MIT)", False), ("MIT AND AGPL-3.0-only", False),
        ("GPL-2.0-or-later", False), ("unknown", False), ("", False),
    ],
)  # fmt: skip
def test_licences_that_fit(licence, fit):
    assert fits(licence) is fit


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: nonsense", "MIT OR Apache-2.0"),
        ("License: BSD-3-Clause\n", "BSD-3-Clause"),
        ("License: Copyright (c) 2026\nClassifier: License :: OSI Approved :: MIT License", "MIT"),
        (
            "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)",
            "GNU General Public License v3 (GPLv3)",
        ),
        ("Name: none", ""),
    ],
)
def test_what_a_package_declares(metadata, expected):
    assert declared(message_from_string(metadata)) == expected


@pytest.mark.parametrize(
    ("found", "hit"),
    [
        (advisory([{"introduced": "0"}, {"fixed": "1.5"}]), False),
        (advisory([{"introduced": "0"}, {"fixed": "1.5.1"}]), True),
        (advisory([{"introduced": "1.5"}]), True),
        (advisory([{"introduced": "1.6"}]), False),
        (advisory([{"introduced": "0"}, {"last_affected": "1.5"}]), True),
        (advisory([{"introduced": "0"}, {"last_affected": "1.4"}]), False),
        (advisory([{"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "1.4"}, {"fixed": "2"}]), True),
        (advisory([{"introduced": "0"}, {"fixed": "1.0"}], [{"introduced": "1.2"}]), True),
        (advisory(versions=["1.5"]), True),
        (advisory(versions=["1.4"]), False),
        (advisory([{"introduced": "0"}], name="flask-other"), False),
        (advisory([{"introduced": "0"}], ecosystem=NPM), False),
        (advisory([{"introduced": "0"}, {"fixed": "no version"}]), True),
    ],
)
def test_the_versions_that_an_advisory_is_about(found, hit):
    assert affects(found, FLASK) is hit


@pytest.mark.parametrize(
    ("accepted", "count"),
    [
        ({}, 1),
        ({"X-1": {"reason": "unreachable", "until": date.max}}, 0),
        ({"X-1": {"reason": "unreachable"}}, 1),
        ({"X-1": {"until": date.max}}, 1),
        ({"X-1": {"reason": "unreachable", "until": date.min}}, 1),
        ({"X-1": {"reason": "unreachable", "until": date.max}, "X-2": {"reason": "old", "until": date.max}}, 1),
    ],
)
def test_a_vulnerability_needs_a_reason_and_a_day_and_no_exception_stays_for_nothing(accepted, count):
    assert len(vulnerabilities([FLASK], [advisory([{"introduced": "0"}])], accepted)) == count


def test_a_database_is_recorded_for_locked_packages_alone(tmp_path, monkeypatch):
    clone = tmp_path / "clone"
    clone.mkdir()
    affected = [
        {
            "package": {"ecosystem": PYPI, "name": name},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}],
        }
        for name in ("Flask", "never-locked")
    ]
    for name, more in {"A-1": {}, "A-2": {"withdrawn": "2026-01-01T00:00:00Z"}}.items():
        (clone / f"{name}.json").write_text(json.dumps({"id": name, "summary": "s\nt", "affected": affected, **more}))
    monkeypatch.setattr(supply, "_day", lambda _clone: "2026-03-01")
    found = json.loads(supply.record([clone]))
    assert found["as_of"] == {PYPI: "2026-03-01", NPM: None}
    assert [(each["id"], each["name"], each["ranges"]) for each in found["advisories"]] == [
        ("A-1", "flask", [[{"introduced": "0"}]])
    ]


def test_a_bill_of_materials_has_everything_that_its_lock_file_has():
    image = re.search(r"^ARG PYTHON=(\S+)", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    assert image
    found = boms()
    assert found.keys() == {file.stem for file in (LOCKS / image[1]).glob("*.txt")}
    for name, bom in found.items():
        purls = [each["purl"] for each in bom["components"]]
        assert len(set(purls)) == len(purls)
        lines = (LOCKS / image[1] / f"{name}.txt").read_text().splitlines()
        pins = {line.split()[0] for line in lines if line[:1].isalnum()}
        assert {each.removeprefix("pkg:pypi/").replace("@", "==") for each in purls if "pypi" in each} == pins
        assert all(each["licenses"][0]["license"]["name"] != "unknown" for each in bom["components"])
    scripts = {each["name"] for each in found["run"]["components"] if each["purl"].startswith("pkg:npm/")}
    asked = json.loads(NPM_LOCKS[0].read_text())["packages"][""]
    assert scripts >= asked["dependencies"].keys()
    assert not scripts & asked["devDependencies"].keys()
