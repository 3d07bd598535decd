"""Write the hashed lock files: a folder for each Python version, a file for each set of packages.

`make lock` runs this. It takes the newest release of everything that pyproject.toml allows. The files name no index, so
pip uses its configured one. The hashes protect against changed files.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PLATFORMS = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("darwin", "x86_64"))
HELD_BY_RUN = {"worker", "dev", "gpu", "worker-gpu"}
HEADER = "# Written by `make lock` from pyproject.toml for Python {version}; do not edit.\n"


def main() -> None:
    """Lock every set for every supported version. Versions pinned in "run" also hold in the other sets."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        pyproject = tomllib.load(file)
    for version in supported_versions(pyproject):
        folder = ROOT / "locks" / version
        folder.mkdir(parents=True, exist_ok=True)
        run = folder / "run.txt"
        for name, requirements in requirement_sets(pyproject).items():
            constraints = run if name in HELD_BY_RUN else None
            text = resolve(requirements, version, constraints)
            target = folder / f"{name}.txt"
            target.write_text(HEADER.format(version=version) + for_version(text, version))
            print(f"wrote {target.relative_to(ROOT)}")


def supported_versions(pyproject: dict[str, Any]) -> list[str]:
    """Return the Python versions in the project's classifiers."""
    pattern = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    return [m[1] for line in pyproject["project"]["classifiers"] if (m := pattern.fullmatch(line))]


def requirement_sets(pyproject: dict[str, Any]) -> dict[str, list[str]]:
    """Return the requirements of each lock file. The build backend is locked too: it runs code at install time."""
    groups = pyproject["dependency-groups"]
    worker = [*pyproject["project"]["dependencies"], *pyproject["build-system"]["requires"]]
    run = worker + pyproject["project"]["optional-dependencies"]["server"]
    return {
        "run": run,
        "worker": worker,
        "dev": run + groups["dev"],
        "gpu": run + groups["gpu"],
        "worker-gpu": worker + groups["gpu"],
        "bench": worker + groups["bench"],
        "tuning": worker + groups["tuning"],
        "client": groups["client"],
        "lock": groups["lock"],
    }


def resolve(requirements: list[str], version: str, constraints: Path | None) -> str:
    """Return the newest releases that fit, for all platforms at once, with their hashes."""
    command = [
        sys.executable, "-m", "uv", "pip", "compile", "-", "--quiet", "--upgrade", "--universal",
        "--python-version", version, "--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url",
    ]  # fmt: skip
    if constraints:
        command += ["--constraints", str(constraints)]
    done = subprocess.run(command, input="\n".join(requirements), text=True, stdout=subprocess.PIPE, check=True)
    return done.stdout


def for_version(lock: str, version: str) -> str:
    """Drop the entries that no supported platform installs on this version: newer Pythons, other systems."""
    entries = re.split(r"\n(?=\S)", lock.strip())
    return "".join(f"{entry}\n" for entry in entries if applies(entry, version))


def applies(entry: str, version: str) -> bool:
    """Whether any supported platform installs this entry."""
    marker = Requirement(entry.partition("\\")[0]).marker
    return marker is None or any(
        marker.evaluate(
            {
                "python_version": version,
                "python_full_version": f"{version}.0",
                "sys_platform": system,
                "platform_system": system.title(),
                "platform_machine": machine,
                "os_name": "posix",
            }
        )
        for system, machine in PLATFORMS
    )


if __name__ == "__main__":
    main()
