"""Courses, memberships and assignments."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from kernels.analysis.devices import devices
from kernels.exercise import ExerciseError, find_exercise, load_exercise, read_exercise
from server.accounts.models import Person
from server.accounts.service import create_person
from server.acts.act import Target
from server.courses import service
from server.courses.models import Course, Exercise, Membership, Role
from server.courses.service import CourseError, Terms
from server.courses.settings import COURSE_SETTINGS, CourseSettings
from server.database.engine import Sessions
from server.exercises.stored import Content, read_content
from tests.server.course import read_rows

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
def course(made: Sessions) -> Course:
    with made.begin() as session:
        return service.create_course(session, "gpu", " GPU   programming ", NOW)


def person(made: Sessions, name: str) -> int:
    with made.begin() as session:
        return create_person(session, email=f"{name}@example.edu", name=name).id


def test_a_course_has_a_name_of_its_own(made: Sessions, course: Course) -> None:
    assert course.title == "GPU programming"
    with pytest.raises(CourseError, match="already"), made.begin() as session:
        service.create_course(session, "gpu", "Another")


@pytest.mark.parametrize("slug", ["", "GPU", "a b", "-a", "a/b", "x" * 61, "ä"])
def test_what_is_no_name_of_a_course(made: Sessions, slug: str) -> None:
    with pytest.raises(CourseError) as raised, made.begin() as session:
        service.create_course(session, slug, "Title")
    assert raised.value.fields == ("slug",)


@pytest.mark.parametrize("title", ["", "a" * 201, "a\u202eb", "=?utf-8?q?Reset=0AReply-To:_x?=", "A =?UTF-8?B?eA==?="])
def test_a_title_is_a_line_that_e_mail_shows_as_it_is(made: Sessions, course: Course, title: str) -> None:
    with made.begin() as session:
        session.add(course)
        for attempt in (
            lambda: service.create_course(session, "other", title),
            lambda: COURSE_SETTINGS.carry_out(session, Target(course), None, lambda _: CourseSettings(title=title)),
            lambda: service.create_assignment(session, course, "tiled", Terms(title=title or " ")),
        ):
            with pytest.raises(CourseError) as raised:
                attempt()
            assert raised.value.fields == ("title",)


def test_enrolling_twice_changes_the_role(made: Sessions, course: Course) -> None:
    with made.begin() as session:
        ada = create_person(session, email="ada@example.edu", name="Ada")
        service.enrol(session, course, ada)
        service.enrol(session, course, ada, Role.ASSISTANT)
    with made.begin() as session:
        (entry,) = service.members(session, course)
        assert (entry.person.name, entry.role) == ("Ada", Role.ASSISTANT)
        assert service.role_in(session, ada.id, course.id) is Role.ASSISTANT
        assert service.role_in(session, 99, course.id) is None
        assert session.scalar(select(func.count()).select_from(Membership)) == 1


def test_who_left_comes_back_by_enrolling(made: Sessions, course: Course) -> None:
    with made.begin() as session:
        ada = create_person(session, email="ada@example.edu", name="Ada")
        service.enrol(session, course, ada).dropped_at = NOW
        session.flush()
        assert service.role_in(session, ada.id, course.id) is None
        service.enrol(session, course, ada)
        assert service.role_in(session, ada.id, course.id) is Role.STUDENT


def test_students_see_nothing_of_what_is_not_listed_and_nothing_once_they_left(made: Sessions, course: Course) -> None:
    student, teacher = person(made, "student"), person(made, "teacher")
    with made.begin() as session:
        for number, role in ((student, Role.STUDENT), (teacher, Role.INSTRUCTOR)):
            session.add(Membership(course_id=course.id, person_id=number, role=role, created_at=NOW))
        service.create_assignment(session, course, "tiled").listed = False
    with made.begin() as session:
        assert service.visible_assignments(session, student, NOW) == []
        assert len(service.visible_assignments(session, teacher, NOW)) == 1
        session.scalars(select(Membership).where(Membership.person_id == teacher)).one().dropped_at = NOW
        session.flush()
        assert service.visible_assignments(session, teacher, NOW) == []


def test_an_assignment_holds_the_exercise_as_it_is(made: Sessions, course: Course) -> None:
    with made.begin() as session:
        service.create_assignment(session, course, "tiled", now=NOW)
    with made.begin() as session:
        found = service.find_assignment(session, "gpu/tiled")
        assert found is not None
        exercise = find_exercise("tiled")
        assert (found.title, found.arch, found.device_class) == (exercise.title, "sm_90", "")
        kept = found.exercise
        assert read_exercise(kept.name, kept.definition, kept.digest).digest == exercise.digest
        assert service.find_assignment(session, "gpu/naive") is None
        assert service.find_assignment(session, "gpu") is None


def test_an_exercise_that_changed_is_another_version_that_judges_alike(
    made: Sessions, course: Course, tmp_path: Path
) -> None:
    folder = shutil.copytree(find_exercise("tiled").root, tmp_path / "tiled")
    with made.begin() as session:
        service.assign(session, course, content_of(folder), Terms(slug="one"))
    (folder / "handout.md").write_text("# Tiled\n\nWithout a typo.\n")
    with made.begin() as session:
        for slug in ("two", "three"):
            service.assign(session, course, content_of(folder), Terms(slug=slug))
    one, two = read_rows(made, select(Exercise).order_by(Exercise.id))
    assert one.version != two.version
    assert (one.course_id, one.digest) == (two.course_id, two.digest) == (course.id, find_exercise("tiled").digest)


def test_equal_folders_of_two_courses_and_of_tilelab_are_three_exercises(
    made: Sessions, course: Course, tmp_path: Path
) -> None:
    folder = shutil.copytree(find_exercise("tiled").root, tmp_path / "tiled")
    with made.begin() as session:
        other = service.create_course(session, "other", "Other")
        for each in (course, other):
            service.assign(session, each, content_of(folder), Terms(slug="own"))
            service.create_assignment(session, each, "tiled")
    found = read_rows(made, select(Exercise).order_by(Exercise.course_id.is_not(None), Exercise.course_id))
    assert [each.course_id for each in found] == [None, course.id, other.id]
    assert len({each.version for each in found}) == 1


def content_of(folder: Path) -> Content:
    return read_content(load_exercise(folder))


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("handout.md", b"\xff", "isn't UTF-8"),
        ("starter.cu", b"/" * (2**16 + 1), "64 KiB"),
        ("big.svg", b" " * (2**22 + 1), "4,096 KiB"),
    ],
)
def test_files_that_cannot_be_kept(tmp_path: Path, file: str, content: bytes, words: str) -> None:
    folder = shutil.copytree(find_exercise("tiled").root, tmp_path / "tiled")
    (folder / file).write_bytes(content)
    with pytest.raises(ExerciseError, match=words) as told:
        content_of(folder)
    assert told.value.path == folder / file


@pytest.mark.parametrize("device", [name for name, it in devices().items() if it.cc != "7.0"])
def test_it_is_compiled_for_what_it_is_measured_on(made: Sessions, course: Course, device: str) -> None:
    with made.begin() as session:
        made_one = service.create_assignment(session, course, "tiled", Terms(device_class=device))
        assert made_one.arch == f"sm_{devices()[device].cc.replace('.', '')}"


def test_a_device_class_that_is_in_no_table_is_taken_too(made: Sessions, course: Course) -> None:
    with made.begin() as session:
        assert service.create_assignment(session, course, "tiled", Terms(device_class="gb999")).arch == "sm_90"


@pytest.mark.parametrize(
    ("exercise", "terms", "fields", "words"),
    [
        ("nope", Terms(), [], "nope"),
        ("tiled", Terms(slug="A b"), ["slug"], "A b"),
        ("tiled", Terms(device_class="H 200"), ["device_class"], "H 200"),
        ("tiled", Terms(device_class="v100"), ["arch"], "sm_70"),
        ("tiled", Terms(arch="sm_1"), ["arch"], "sm_1"),
        ("tiled", Terms(tile=7), ["tile"], "tile 7"),
        ("tiled", Terms(title="x" * 201), ["title"], ""),
    ],
)
def test_what_cannot_be_set(made: Sessions, course: Course, exercise, terms, fields, words) -> None:
    with pytest.raises(CourseError) as raised, made.begin() as session:
        service.create_assignment(session, course, exercise, terms)
    assert list(raised.value.fields) == fields
    assert words in str(raised.value)


def test_a_title_has_200_characters_at_most(made: Sessions, course: Course) -> None:
    with made.begin() as session:
        service.create_assignment(session, course, "tiled", Terms(title="x" * 200))


def test_an_assignment_has_a_name_of_its_own_in_its_course(made: Sessions, course: Course) -> None:
    with made.begin() as session:
        service.create_assignment(session, course, "tiled")
        other = service.create_course(session, "other", "Other")
        service.create_assignment(session, other, "tiled")
    with pytest.raises(CourseError, match="already"), made.begin() as session:
        service.create_assignment(session, course, "tiled")


def test_students_see_what_is_open_and_staff_everything(made: Sessions, course: Course) -> None:
    student, teacher, stranger = (person(made, name) for name in ("student", "teacher", "stranger"))
    day = timedelta(days=1)
    with made.begin() as session:
        for number, role in ((student, Role.STUDENT), (teacher, Role.INSTRUCTOR)):
            session.add(Membership(course_id=course.id, person_id=number, role=role, created_at=NOW))
        for slug, opens, due in (
            ("later", NOW + day, NOW + 2 * day), ("second", None, NOW + 2 * day), ("first", NOW - day, NOW + day),
            ("any-time", None, None),
        ):  # fmt: skip
            one = service.create_assignment(session, course, "tiled", Terms(slug=slug))
            one.opens_at, one.due_at = opens, due

    def seen(number: int) -> list[str]:
        with made.begin() as session:
            return [it.slug for it in service.visible_assignments(session, number, NOW)]

    assert seen(student) == ["first", "second", "any-time"]
    assert seen(teacher) == ["first", "later", "second", "any-time"]
    assert seen(stranger) == []
    with made.begin() as session:
        session.get_one(Person, stranger).admin = True
    assert seen(stranger) == seen(teacher)
    with made.begin() as session:
        assert len(service.assignments(session, course)) == 4
        session.get_one(Course, course.id).archived_at = NOW
    assert seen(teacher) == seen(stranger) == []


def test_an_exercise_that_its_solution_judges_is_kept_with_the_solution() -> None:
    content = read_content(find_exercise("histogram"))
    read = read_exercise("histogram", content.definition, content.exercise.digest)
    assert read.solution_text.encode() == content.files["solution.cu"]
