"""Exercises by origin and version, with their files.

Before, a hash of an exercise's grading rules identified it. Two folders with equal definitions were one row. So a
course's own folder could be confused with the exercise of the same name that comes with Tilelab.

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_SHIPPED = sa.text("course_id IS NULL")
_USERS = ("assignments", "jobs")
_INSTALLED = Path(__file__).resolve().parents[2] / "kernels" / "exercises"
_LARGEST_FILE = 4 * 2**20

# SHA-256 of each exercise.toml that came with Tilelab while the tables had versions up to 0006.
_DEFINITIONS = {
    "bank-conflicts": "75cfc6f6cba31e7c7eb6d3a0782240959b8d52ea4a28bb1fee4f644da33128f9",
    "coalescing": "f3d03aae063a8605c6023ae4d824559e4efd4cd169acde0d625a5a0befdcd108",
    "coarsened": "6d2ec13f576aa252a56d5dfc249325d9db8968ae4e069b8f0f02948bf0b2f49b",
    "column-major": "3a37d61ced67ff7f7158ce5148eced0d8510bcf7b3cad2fb560116d9705feb46",
    "corner-turning": "22ea38068d09fd822ee339ae9f63d9f8f4f6799de76f7ceaa97529bb2678cd99",
    "divergence": "482e2e64501e349848631b205ccc6febb5cf4ea42c5351c48cf603e252933a09",
    "foo-kernel": "f8bb4d6acf3e4edaa239871c5ad1b248b64b48860df4d062496cc02d949b4a4d",
    "lab6-blocked": "377df7f3365dfe444dc6a1acc7a3f7c689d2b51edbd0f1f775029cb9e2286db3",
    "lab6-occupancy": "a8822eebcc2f580654166457e073b88295e6090b2d8b59a8214923607a85ad6d",
    "naive": "4cb3432a1b89783055eeb0966643b4429ab60bc8a3249ef3b2f6417455276695",
    "reduction": "faa49c537b023adcfe653699c9259dbed94f7a45ee6966c36fe6caebe61cc197",
    "single-block": "51668047e403221f60b61ba49de407178b5be7b601f4e2b71b61f9d9e85bc0d8",
    "tiled": "e81902528d06b35571172725a95d1e86aa346bfdfb8a171f2c6d5f32ae47180f",
    "tiled-square": "f310d997e044a2f1f30391611a4d58bffd065859054a56fb5da06651909fb434",
}

# The digests of these exercises by the judge of those versions. A copy with other descriptions had the same digest and
# so the same row. Its text replaced the row's text.
_DIGESTS = {
    "bank-conflicts": "0d780639862ee993aed9bcf082da586dc24dcabe7ca995c01c0b73276f041f6b",
    "coalescing": "db52930feea36c27a278bca542f0cd0140ac2b6e0787a8f52e260b4c030064c4",
    "coarsened": "59ae38a2009abf8b7e6a81d79c14d718e93272b6cc094dc7914e52a3b93e928e",
    "column-major": "6ac3b9fb097c1b20140856c03edc44fb40a4ac65b88bf392497acac7f56bce00",
    "corner-turning": "0bec250f7b9b951257d6dec081bd542520ce0a445a640a56f0cfb58dc8b3ac4a",
    "divergence": "b24e2977b5bd2f8174c41a8ca1d59d75ffd08df3c6e40acc14d406ced9d1c019",
    "foo-kernel": "4af91fce5d458f06d8a962cfc47a8bc435d86a219d7d750daff07739b53d5fce",
    "lab6-blocked": "cdb82195994e5dac1dd1981280904ff8990a513b5fc5013fd743833cdf8a2012",
    "lab6-occupancy": "4a3d979f95a9e0e131c7d614e7f6fd1294aebf0d8eedfad03fbe970160d7cb5a",
    "naive": "d244392878adb2da099e25f327583678ae8730b9711bc3e961b8becc4d8ae8f0",
    "reduction": "8c5a20667b0d836fad2eac21427ace37682d1e348fdd22daba6f3b532bd2a9f8",
    "single-block": "f7b50e6d4458b5a475b75182e62f11107b292f0d4a65e148a98a04bcc2f4dae5",
    "tiled": "cbda6c37b3a723ee6ad661d2d96c373f07023818e9a437a25dbf163a83c85f49",
    "tiled-square": "3754468533b7593989d75948716ef240b949c1c3d4d0c43b5784f9590cee5cf6",
}

_old = sa.table(
    "exercises", sa.column("digest"), sa.column("name"), sa.column("title"), sa.column("definition"),
    sa.column("added_at", _TIME),
)  # fmt: skip
_new = sa.table(
    "exercises", sa.column("id", _ID), sa.column("course_id", _ID), sa.column("name"), sa.column("version"),
    sa.column("digest"), sa.column("title"), sa.column("definition"), sa.column("added_at", _TIME),
)  # fmt: skip
_files = sa.table(
    "exercise_files", sa.column("exercise_id", _ID), sa.column("name"), sa.column("content", sa.LargeBinary())
)


def upgrade() -> None:
    """Upgrade to this version."""
    connection = op.get_bind()
    rows = connection.execute(sa.select(_old).order_by(_old.c.added_at, _old.c.digest)).mappings().all()
    courses = _courses()
    for table in _USERS:
        with op.batch_alter_table(table) as batch:
            batch.add_column(sa.Column("exercise_id", _ID, nullable=True))
            batch.drop_constraint(op.f(f"fk_{table}_exercise_digest_exercises"), type_="foreignkey")
    op.drop_index(op.f("ix_exercises_name"), "exercises")
    op.drop_table("exercises")
    _make_tables()
    for row in rows:
        _move(dict(row), courses.get(row["digest"], []))
    for table in _USERS:
        with op.batch_alter_table(table) as batch:
            batch.alter_column("exercise_id", existing_type=_ID, nullable=False)
            batch.create_foreign_key(
                op.f(f"fk_{table}_exercise_id_exercises"), "exercises", ["exercise_id"], ["id"]
            )
            batch.drop_column("exercise_digest")


def _courses() -> Mapping[str, Sequence[int]]:
    """Return the courses with an assignment of each exercise, now or in the past, in order."""
    pairs = op.get_bind().execute(
        sa.text(
            "SELECT exercise_digest AS digest, course_id FROM assignments "
            "UNION SELECT jobs.exercise_digest, assignments.course_id FROM jobs "
            "JOIN submissions ON submissions.id = jobs.submission_id "
            "JOIN assignments ON assignments.id = submissions.assignment_id ORDER BY 1, 2"
        )
    )
    found: dict[str, list[int]] = {}
    for digest, course in pairs:
        found.setdefault(digest, []).append(course)
    return found


def _make_tables() -> None:
    op.create_table(
        "exercises",
        sa.Column("id", _ID, nullable=False),
        sa.Column("course_id", _ID, nullable=True),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("added_at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["course_id"], ["courses.id"], name=op.f("fk_exercises_course_id_courses")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exercises")),
        sa.UniqueConstraint("course_id", "name", "version", name=op.f("uq_exercises_course_id_name_version")),
    )
    op.create_index(op.f("ix_exercises_digest"), "exercises", ["digest"])
    op.create_index(
        "uq_exercises_shipped", "exercises", ["name", "version"], unique=True,
        postgresql_where=_SHIPPED, sqlite_where=_SHIPPED,
    )  # fmt: skip
    op.create_table(
        "exercise_files",
        sa.Column("exercise_id", _ID, nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint(
            f"length(content) <= {_LARGEST_FILE}", name=op.f("ck_exercise_files_content_bounded")
        ),
        sa.ForeignKeyConstraint(
            ["exercise_id"], ["exercises.id"], name=op.f("fk_exercise_files_exercise_id_exercises")
        ),
        sa.PrimaryKeyConstraint("exercise_id", "name", name=op.f("pk_exercise_files")),
    )


def _move(row: Mapping[str, Any], courses: Sequence[int]) -> None:
    """Give an exercise to its owners: to Tilelab, or to each course that uses it."""
    definition = hashlib.sha256(row["definition"].encode()).hexdigest()
    shipped = row["digest"] == _DIGESTS.get(row["name"]) or definition == _DEFINITIONS.get(row["name"])
    if shipped or not courses:
        _point(row["digest"], _insert(row, None, dict(_installed(row["name"])) if shipped else {}), None)
        return
    for course in courses:
        kept = _insert(row, course, {})  # its folder is wherever the operator's command found it
        _point(row["digest"], kept, course)
    # for experiments, which belong to no course
    _point(row["digest"], kept, None)


def _insert(row: Mapping[str, Any], course: int | None, files: Mapping[str, bytes]) -> int:
    contents = {"exercise.toml": row["definition"].encode(), **files}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    text = json.dumps({"judged_by": row["digest"], "files": hashes}, sort_keys=True)
    values = {**row, "course_id": course, "version": hashlib.sha256(text.encode()).hexdigest()}
    connection = op.get_bind()
    number: int = connection.execute(sa.insert(_new).values(values).returning(_new.c.id)).scalar_one()
    for name, content in files.items():
        connection.execute(sa.insert(_files).values(exercise_id=number, name=name, content=content))
    return number


def _installed(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files that students saw so far: the installed ones."""
    for file in sorted((_INSTALLED / name).glob("*")):
        given = file.name in {"handout.md", "starter.cu", "solution.cu"} or file.suffix == ".svg"
        if given and file.stat().st_size <= _LARGEST_FILE:
            yield file.name, file.read_bytes()


def _point(digest: str, exercise: int, course: int | None) -> None:
    """Point a course's rows to the new exercise. course: None for all rows that don't have one yet."""
    of_course = {"assignments": "", "jobs": ""} if course is None else {
        "assignments": " AND course_id = :course",
        "jobs": " AND submission_id IN (SELECT submissions.id FROM submissions "
        "JOIN assignments ON assignments.id = submissions.assignment_id WHERE assignments.course_id = :course)",
    }  # fmt: skip
    given = {"exercise": exercise, "digest": digest} | ({} if course is None else {"course": course})
    for table in _USERS:
        query = f"UPDATE {table} SET exercise_id = :exercise WHERE exercise_digest = :digest AND exercise_id IS NULL"  # noqa: S608 - our own words
        op.get_bind().execute(sa.text(query + of_course[table]), given)


def downgrade() -> None:
    """Go back to the version before, in which versions with the same grading rules are one."""
    connection = op.get_bind()
    rows = connection.execute(sa.select(_new).order_by(_new.c.id)).mappings().all()
    for table in _USERS:
        with op.batch_alter_table(table) as batch:
            batch.add_column(sa.Column("exercise_digest", sa.String(length=64), nullable=True))
        op.execute(
            f"UPDATE {table} SET exercise_digest = "  # noqa: S608 - our own words
            f"(SELECT digest FROM exercises WHERE exercises.id = {table}.exercise_id)"
        )
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(op.f(f"fk_{table}_exercise_id_exercises"), type_="foreignkey")
            batch.drop_column("exercise_id")
    op.drop_table("exercise_files")
    op.drop_table("exercises")
    op.create_table(
        "exercises",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("added_at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_exercises")),
    )
    op.create_index(op.f("ix_exercises_name"), "exercises", ["name"])
    for row in {row["digest"]: row for row in reversed(rows)}.values():
        connection.execute(sa.insert(_old).values({column.name: row[column.name] for column in _old.c}))
    for table in _USERS:
        with op.batch_alter_table(table) as batch:
            batch.alter_column("exercise_digest", existing_type=sa.String(length=64), nullable=False)
            batch.create_foreign_key(
                op.f(f"fk_{table}_exercise_digest_exercises"), "exercises", ["exercise_digest"], ["digest"]
            )
