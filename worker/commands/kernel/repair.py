"""Repairs a student's file in place, for `tilelab grade --fix`."""

from __future__ import annotations

from pathlib import Path

import click

from worker.commands.root import WrongUse


def repaired(file: str, source: bytes) -> bytes:
    """The repaired source. The file is replaced, the old one gets the suffix `.orig`, and each change is printed.

    raise (WrongUse): the file can't be replaced
    """
    from kernels.source.paste.decoding import decode
    from kernels.source.paste.repairs import repair_of

    if file == "-":
        raise WrongUse("--fix changes a file. Name one instead of standard input.")
    text = decode(source)
    repair = repair_of(text) if isinstance(text, str) else None
    if repair is None:
        click.echo(f"tilelab: {file}: nothing to repair.", err=True)
        return source
    content = repair.text.replace("\n", "\r\n" if b"\r\n" in source else "\n").encode()
    kept = _replace(Path(file), content)
    for change in repair.changes:
        click.echo(f"tilelab: {file}: {change}", err=True)
    click.echo(f"tilelab: {file}: repaired. The old file is {kept}.", err=True)
    return content


def _replace(path: Path, content: bytes) -> Path:
    """Write the file. Returns the copy of the old one."""
    kept = path.with_name(f"{path.name}.orig")
    try:
        with kept.open("xb") as copy:
            copy.write(path.read_bytes())
        path.write_bytes(content)
    except FileExistsError as error:
        raise WrongUse(f"{kept}: this file exists. Move it away, then use --fix again.") from error
    except OSError as error:
        raise WrongUse(f"{path}: cannot write the file ({error.strerror}).") from error
    return kept
