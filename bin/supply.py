"""Known vulnerabilities, licences, and bills of materials of every package that the lock files pin.

python -m bin.supply audit                 compare with the recorded advisories and licences; needs no network
python -m bin.supply sbom FOLDER           write a CycloneDX file for each set of packages
python -m bin.supply advisories CLONE...   record the advisories of clones of databases in OSV's format
python -m bin.supply licences              record the licences that packages declare
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile

import yaml
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"
HERE = ROOT / "bin"
ADVISORIES, ACCEPTED, LICENCES = HERE / "advisories.json", HERE / "accepted.toml", HERE / "licences.toml"
NPM_LOCKS = (ROOT / "server/web/client/package-lock.json", ROOT / "tests/browser/package-lock.json")
PYPI, NPM = "PyPI", "npm"

ALLOWED = frozenset(
    {
        "0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "PSF-2.0",
        "Apache-2.0 WITH LLVM-exception", "MIT-CMU", "Unlicense", "Zlib",
        # Ask only for changes of their own files.
        "LGPL-2.1-or-later", "LGPL-3.0-only", "MPL-2.0",
        # The compiler and the libraries of CUDA, which each host installs from NVIDIA's own packages.
        "LicenseRef-NVIDIA-Proprietary",
    }
)  # fmt: skip
"""Licences that fit a program under Apache-2.0 that others run and change."""

_CLASSIFIERS = {
    "MIT License": "MIT", "BSD License": "BSD", "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Python Software Foundation License": "PSF-2.0",
    "ISC License (ISCL)": "ISC", "Other/Proprietary License": "Proprietary",
}  # fmt: skip
_PIN = re.compile(r"([A-Za-z0-9][\w.-]*)==([^\s;\\]+)")
_HEADER = """\
# Written by `make licences`: what each locked package declares. If it declares nothing, or wasn't
# installed, a person wrote the licence, and `make licences` keeps it.
"""


@dataclass(frozen=True, slots=True, order=True)
class Package:
    ecosystem: str
    name: str
    version: str

    @property
    def purl(self) -> str:
        """Its address in the form of the standard package-url."""
        return f"pkg:{self.ecosystem.lower()}/{quote(self.name)}@{quote(self.version)}"


def main(words: Sequence[str]) -> int:
    match words:
        case ["audit"]:
            found = problems(locked())
            print("\n".join([*found, f"{len(found)} problems in {len(locked())} packages; {recorded()}"]))
            return 1 if found else 0
        case ["sbom", folder]:
            for name, text in boms().items():
                path = Path(folder) / f"{name}.cdx.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(text, indent=1) + "\n")
                print(f"wrote {path}: {len(text['components'])} packages")
        case ["advisories", *clones] if clones:
            ADVISORIES.write_text(record([Path(clone) for clone in clones]))
        case ["licences"]:
            LICENCES.write_text(licences_text(known_licences() | declared_licences()))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


# -- what is locked ----------------------------------------------------------------------------------------------------


def locked() -> set[Package]:
    """Every package of every lock file."""
    return {each for file in LOCKS.glob("*/*.txt") for each in pinned(file)} | {
        each for file in NPM_LOCKS for each in npm_packages(file)
    }


def pinned(file: Path) -> list[Package]:
    """The packages of one of pip's lock files."""
    return [Package(PYPI, found[1], found[2]) for line in file.read_text().splitlines() if (found := _PIN.match(line))]


def npm_packages(file: Path, *, shipped: bool = False) -> list[Package]:
    """shipped: only those that a build contains, and not its tools."""
    entries = json.loads(file.read_text())["packages"]
    return [
        Package(NPM, place.rpartition("node_modules/")[2], entry["version"])
        for place, entry in entries.items()
        if place and not (shipped and entry.get("dev"))
    ]


# -- vulnerabilities ---------------------------------------------------------------------------------------------------


def problems(packages: Iterable[Package]) -> list[str]:
    """What is wrong: vulnerabilities without an exception, licences that are unknown or don't fit."""
    record, accepted = json.loads(ADVISORIES.read_text()), tomllib.loads(ACCEPTED.read_text())
    licences = known_licences()
    packages = sorted(packages)
    found = vulnerabilities(packages, record["advisories"], accepted)
    found += [
        f"{each.name}: no licence is recorded" for each in packages if (each.ecosystem, each.name) not in licences
    ]
    names = {(each.ecosystem, each.name) for each in packages}
    found += [
        f"{name}: the licence {licence!r} doesn't fit"
        for (ecosystem, name), licence in sorted(licences.items())
        if (ecosystem, name) in names and not fits(licence)
    ]
    return found


def vulnerabilities(
    packages: Iterable[Package], advisories: Sequence[Mapping[str, Any]], accepted: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Those without a written exception, and exceptions that say too little or that nothing needs.

    accepted: by the advisory's ID, the `reason` and the date `until` which it counts
    """
    hit = {each["id"]: each for each in advisories for package in packages if affects(each, package)}
    found = []
    for name, each in hit.items():
        exception = accepted.get(name, {})
        if not exception:
            found.append(f"{each['name']}: {name} {each['summary']}")
        elif not (exception.get("reason") and isinstance(exception.get("until"), date)):
            found.append(f"{name}: its exception needs `reason` and a date `until`")
        elif exception["until"] < date.today():  # noqa: DTZ011 - one day more or less changes nothing
            found.append(f"{name}: its exception ended on {exception['until']}")
    return found + [f"{name}: an exception that no locked package needs" for name in accepted.keys() - hit.keys()]


def affects(advisory: Mapping[str, Any], package: Package) -> bool:
    """Whether it is about this version. A version that can't be compared counts as affected."""
    if (advisory["ecosystem"], advisory["name"]) != (package.ecosystem, package.name):
        return False
    if package.version in advisory["versions"]:
        return True
    try:
        return any(_within(Version(package.version), events) for events in advisory["ranges"])
    except InvalidVersion:
        return True


def _within(version: Version, events: Sequence[Mapping[str, str]]) -> bool:
    """OSV's rule: what the last event before the version says."""
    inside = False
    for event in events:
        ((kind, text),) = event.items()
        at = Version(text)
        if kind == "introduced" and version >= at:
            inside = True
        elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            inside = False
    return inside


def record(clones: Sequence[Path]) -> str:
    """The advisories of these databases about what is locked, and each database's last day."""
    names = {(each.ecosystem, each.name) for each in locked()}
    found: dict[str, dict[str, Any]] = {}
    as_of: dict[str, str] = {}
    for clone in clones:
        day = _day(clone)
        for advisory in _osv_files(clone):
            for affected in advisory.get("affected", ()):
                package = affected.get("package", {})
                key = (package.get("ecosystem", ""), _name_in_lock(package))
                as_of[key[0]] = max(as_of.get(key[0], ""), day)
                if key in names and not advisory.get("withdrawn"):
                    found[f"{advisory['id']} {key[1]}"] = _recorded(advisory, affected, key[1])
    days = {name: as_of.get(name) for name in (PYPI, NPM)}
    lines = ",\n".join(json.dumps(found[key]) for key in sorted(found))
    return f'{{"as_of": {json.dumps(days)},\n"advisories": [\n{lines}\n]}}\n'


def _day(clone: Path) -> str:
    """Of its last commit."""
    command = ["git", "-C", str(clone), "log", "-1", "--format=%cs"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def _osv_files(clone: Path) -> Iterator[Mapping[str, Any]]:
    for path in sorted(clone.rglob("*")):
        if path.suffix == ".json" or (path.suffix == ".yaml" and path.parent != clone):
            content = json.loads(path.read_text()) if path.suffix == ".json" else yaml.safe_load(path.read_text())
            if isinstance(content, dict) and "affected" in content:
                yield content


def _name_in_lock(package: Mapping[str, str]) -> str:
    """GitHub's database has names as their projects write them, such as Jinja2."""
    name = package.get("name", "")
    return canonicalize_name(name) if package.get("ecosystem") == PYPI else name


def _recorded(advisory: Mapping[str, Any], affected: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What the audit needs. Versions are listed only where no range can be compared."""
    ranges = [each["events"] for each in affected.get("ranges", ()) if each["type"] in {"ECOSYSTEM", "SEMVER"}]
    text = advisory.get("summary") or advisory.get("details") or ""
    return {
        "id": advisory["id"], "ecosystem": affected["package"]["ecosystem"], "name": name,
        "summary": " ".join(text.split())[:100], "ranges": ranges,
        "versions": [] if ranges else affected.get("versions", []),
    }  # fmt: skip


def recorded() -> str:
    """How old the advisories are."""
    days = json.loads(ADVISORIES.read_text())["as_of"]
    return ", ".join(f"{name} advisories {f'of {day}' if day else 'not recorded'}" for name, day in days.items())


# -- licences ----------------------------------------------------------------------------------------------------------


def fits(licence: str) -> bool:
    """Whether an expression allows our use: one side of OR, each side of AND, parentheses first."""
    while inner := re.search(r"\(([^()]*)\)", licence):
        licence = licence.replace(inner[0], "MIT" if _fits(inner[1]) else "none")
    return _fits(licence)


def _fits(licence: str) -> bool:
    return any(all(part.strip() in ALLOWED for part in side.split(" AND ")) for side in licence.split(" OR "))


def known_licences() -> dict[tuple[str, str], str]:
    """By ecosystem and name."""
    table = tomllib.loads(LICENCES.read_text()) if LICENCES.exists() else {}
    return {(ecosystem, name): text for ecosystem, names in table.items() for name, text in names.items()}


def licences_text(found: Mapping[tuple[str, str], str]) -> str:
    names = {(each.ecosystem, each.name) for each in locked()}
    lines = [_HEADER]
    for ecosystem in (PYPI, NPM):
        lines.append(f"\n[{ecosystem}]\n")
        chosen = sorted(
            (name, text) for (where, name), text in found.items() if (where, name) in names & {(ecosystem, name)}
        )
        lines += [f"{json.dumps(name)} = {json.dumps(text)}\n" for name, text in chosen]
    return "".join(lines)


def declared_licences() -> dict[tuple[str, str], str]:
    """What npm's lock files say, and what pip reads of each package without installing it."""
    found = {}
    for file in NPM_LOCKS:
        for place, entry in json.loads(file.read_text())["packages"].items():
            if place:
                found[NPM, place.rpartition("node_modules/")[2]] = entry.get("license", "")
    seen: set[Package] = set()
    folder = LOCKS / f"{sys.version_info[0]}.{sys.version_info[1]}"
    for lock in sorted(folder.glob("*.txt"), key=lambda file: -file.stat().st_size):
        if not seen >= set(pinned(lock)):
            seen |= set(pinned(lock))
            for metadata in _downloaded(lock):
                if licence := declared(metadata):
                    found[PYPI, canonicalize_name(metadata["Name"])] = licence
    return found


def _downloaded(lock: Path) -> list[Message]:
    """The metadata of all packages of a lock file."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary",
             ":all:", "--dest", folder, "-r", lock], check=True,
        )  # fmt: skip
        return [_metadata(wheel) for wheel in sorted(Path(folder).glob("*.whl"))]


def _metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", each))
        return message_from_bytes(archive.read(name))


def declared(metadata: Message) -> str:
    """The expression, otherwise a short text that is one, otherwise the classifiers."""
    for text in (str(metadata.get(field, "")) for field in ("License-Expression", "License")):
        try:
            return str(canonicalize_license_expression(text))
        except InvalidLicenseExpression:
            continue
    classifiers = metadata.get_all("Classifier", [])
    names = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License ::")]
    return " OR ".join(sorted(_CLASSIFIERS.get(name, name) for name in names))


# -- bills of materials ------------------------------------------------------------------------------------------------


def boms() -> dict[str, dict[str, Any]]:
    """By set of packages, for the images' Python version. "run" is the server's image, with the portal's scripts."""
    image = re.search(r"^ARG PYTHON=(\S+)", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    assert image
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    licences = known_licences()
    found = {}
    for lock in sorted((LOCKS / image[1]).glob("*.txt")):
        packages = pinned(lock) + (npm_packages(NPM_LOCKS[0], shipped=True) if lock.stem == "run" else [])
        found[lock.stem] = bom(f"tilelab-{lock.stem}", version, packages, licences)
    return found


def bom(
    name: str, version: str, packages: Iterable[Package], licences: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    """As the standard CycloneDX writes it."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": name, "name": name, "version": version}},
        "components": [
            {
                "type": "library", "bom-ref": each.purl, "name": each.name, "version": each.version, "purl": each.purl,
                "licenses": [{"license": {"name": licences.get((each.ecosystem, each.name), "unknown")}}],
            }
            for each in sorted(set(packages))
        ],
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
