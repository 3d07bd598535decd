"""Build the portal's scripts from server/web/client, or check their types: `python -m bin.client build|types`.

The scripts are committed, so a portal also runs without Node.js. A test compares them with a new build.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from bin.node_packages import ROOT, NoNode, packages, run

CLIENT = ROOT / "server" / "web" / "client"
BUILT = ROOT / "server" / "web" / "static" / "build"
ENTRIES = ("site.ts", "editor.ts", "live.ts")
LICENSES = "LICENSES.txt"


def build(target: Path) -> None:
    """Write the scripts, and the licenses of their parts, into an empty folder."""
    tools = packages(CLIENT) / ".bin"
    made_of = target / "made-of.json"
    run(
        [
            str(tools / "esbuild"), *ENTRIES, "--bundle", "--minify", "--format=esm", "--target=es2022",
            "--charset=utf8", "--legal-comments=none", "--alias:style-mod=./style-mod.ts",
            f"--outdir={target}", f"--metafile={made_of}", "--log-level=warning",
        ],
        CLIENT,
    )  # fmt: skip
    (target / LICENSES).write_text(_licenses(json.loads(made_of.read_text())["inputs"]))
    made_of.unlink()


def check_types() -> None:
    """Raise NoNode with the compiler's errors."""
    run([str(packages(CLIENT) / ".bin" / "tsc"), "--noEmit", "--project", "."], CLIENT)


def _licenses(inputs: dict[str, object]) -> str:
    """Return the licenses of the packages in the scripts, which each copy must include."""
    names = sorted({_package(path) for path in inputs if path.startswith("node_modules/")})
    texts = [
        f"{name}\n\n{(CLIENT / 'node_modules' / name / 'LICENSE').read_text().strip()}\n" for name in names
    ]
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
