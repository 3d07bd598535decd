"""Build the portal's scripts from server/web/client, or check their types: `python -m bin.client build|types`.

The scripts are committed, so a portal also runs without Node.js. A test compares them with a new build.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from bin.node_packages import ROOT, NoNode, packages, run

CLIENT = ROOT / "server" / "web" / "client"
BUILT = ROOT / "server" / "web" / "static" / "build"
ENTRIES = ("site.ts", "workbench.ts", "editor.ts", "live.ts", "grading.ts", "trial.ts")
# The workbench loads the editor, and the editor loads keys that its reader chose. Their CodeMirror is the editor's.
KEYS = ("vim-keys.ts", "emacs-keys.ts")
_OF_THE_EDITOR = ("autocomplete", "commands", "language", "search", "state", "view")
LICENSES = "LICENSES.txt"


def build(target: Path) -> None:
    """Write the scripts, and the licenses of their parts, into an empty folder."""
    lazy = [f"--external:./{Path(name).stem}.js" for name in ("editor.ts", *KEYS)]
    shared = [f"--alias:@codemirror/{name}=./editor.js" for name in _OF_THE_EDITOR]
    inputs = _bundle(target, ENTRIES, [*lazy, "--alias:style-mod=./style-mod.ts"])
    # Emacs' package marks the calls that fill its tables as free of effects.
    inputs |= _bundle(target, KEYS, [*shared, "--external:./editor.js", "--ignore-annotations"])
    (target / LICENSES).write_text(_licenses(inputs))


def _bundle(target: Path, entries: Sequence[str], options: Sequence[str]) -> set[str]:
    """Write one file for each entry, and return the files that it is made of."""
    made_of = target / "made-of.json"
    run(
        [
            str(packages(CLIENT) / ".bin" / "esbuild"), *entries, "--bundle", "--minify", "--format=esm",
            "--target=es2022", "--charset=utf8", "--legal-comments=none", f"--outdir={target}",
            f"--metafile={made_of}", "--log-level=warning", *options,
        ],
        CLIENT,
    )  # fmt: skip
    inputs = set(json.loads(made_of.read_text())["inputs"])
    made_of.unlink()
    return inputs


def check_types() -> None:
    """Raise NoNode with the compiler's errors."""
    run([str(packages(CLIENT) / ".bin" / "tsc"), "--noEmit", "--project", "."], CLIENT)


def _licenses(inputs: Collection[str]) -> str:
    """Return the licenses of the packages in the scripts, which each copy must include."""
    names = sorted({_package(path) for path in inputs if path.startswith("node_modules/")})
    texts = [f"{name}\n\n{(CLIENT / 'node_modules' / name / 'LICENSE').read_text().strip()}\n" for name in names]
    return f"\n{'-' * 80}\n\n".join(["The scripts in this folder hold parts of these packages.\n", *texts])


def _package(path: str) -> str:
    _, first, second, *_ = path.split("/")
    return f"{first}/{second}" if first.startswith("@") else first


def _replace(target: Path) -> None:
    """Build, and replace the old scripts only if the build succeeds."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        made.mkdir()
        build(made)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)


def main() -> int:
    """Run the command line."""
    try:
        match sys.argv[1:]:
            case ["build"]:
                _replace(BUILT)
            case ["types"]:
                check_types()
            case _:
                print("usage: python -m bin.client build|types", file=sys.stderr)
                return 2
    except NoNode as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
