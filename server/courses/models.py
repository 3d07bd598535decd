"""Tables of courses, memberships, exercises, assignments and extensions."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from server.accounts.models import Person
from server.database.base import Base, BigId, choice
from server.grades.criteria import most_of

SOURCE_BYTES = 64 * 2**10
EXERCISE_FILE_BYTES = 4 * 2**20
LONGEST_NOTE = 2_000
LONGEST_STUDENT_ID = 60
MOST_LATE_DAYS = 365

_SHIPPED = text("course_id IS NULL")
_HAS_ID = text("student_id <> ''")
_DRAFT = text("course_id IS NOT NULL AND number IS NULL")


class Role(StrEnum):
    """A person's role in a course."""

    STUDENT = "student"
    ASSISTANT = "assistant"
    INSTRUCTOR = "instructor"


class Counts(StrEnum):
    """Which of a student's submissions counts: the best, the last, or the chosen one."""

    BEST = "best"
    LAST = "last"
    CHOSEN = "chosen"


class HintStep(StrEnum):
    """How much a result says about a mistake: a question, what is wrong and where, or also the edit."""

    QUESTION = "question"
    FINDING = "finding"
    EDIT = "edit"


class SpeedBy(StrEnum):
    """What an assignment's tiers for speed compare: GFLOPS, GB/s, % of cuBLAS's speed, or the ladder's rung."""

    GFLOPS = "gflops"
    GBPS = "gbps"
    CUBLAS = "cublas"
    RUNG = "rung"


class Course(Base):
    """One term of a course.

    slug: its name in addresses
    enrolment_code: lets students add themselves; None if they can't
    time_zone: for its times on pages, such as "Europe/Vienna"
    late_days: each student may submit this many days late in all, without a penalty
    retention_days: how many days after its end details of submissions go; None to keep them. See
        server.operations.retention
    retention_set_at: when this was last changed
    """

    __tablename__ = "courses"
    __table_args__ = (CheckConstraint("late_days >= 0", name="late_days_not_negative"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    slug: Mapped[str] = mapped_column(String(60), unique=True)
    title: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]
    enrolment_code: Mapped[str | None] = mapped_column(String(40), unique=True)
    time_zone: Mapped[str] = mapped_column(String(64), default="UTC")
    late_days: Mapped[int] = mapped_column(default=0)
    retention_days: Mapped[int | None]
    retention_set_at: Mapped[datetime | None]


class Membership(Base):
    """A person's membership in a course.

    section: a part of a large course, such as a lab group; "" for none
    dropped_at: when the person left; their work stays
    student_id: the university's number of the person, for course staff only; "" for none
    """

    __tablename__ = "memberships"
    __table_args__ = (
        UniqueConstraint("course_id", "person_id"),
        Index(
            "uq_memberships_student_id", "course_id", "student_id", unique=True, postgresql_where=_HAS_ID,
            sqlite_where=_HAS_ID,
        ),
    )  # fmt: skip

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    role: Mapped[Role] = mapped_column(choice(Role))
    created_at: Mapped[datetime]
    section: Mapped[str] = mapped_column(String(60), default="")
    dropped_at: Mapped[datetime | None]
    student_id: Mapped[str] = mapped_column(String(LONGEST_STUDENT_ID), default="")

    course: Mapped[Course] = relationship()
    person: Mapped[Person] = relationship()


class CourseInvitation(Base):
    """An invitation to a course for a person with an account, who accepts or declines it.

    email, name, student_id: as course staff typed them; the account's own name stays unknown to them
    refused_at: when the person declined; None for an open invitation. An accepted one is deleted
    """

    __tablename__ = "course_invitations"
    __table_args__ = (UniqueConstraint("course_id", "person_id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), index=True)
    email: Mapped[str] = mapped_column(String(254))
    name: Mapped[str] = mapped_column(String(200))
    role: Mapped[Role] = mapped_column(choice(Role, constrained=False))
    section: Mapped[str] = mapped_column(String(60), default="")
    student_id: Mapped[str] = mapped_column(String(LONGEST_STUDENT_ID), default="")
    invited_by: Mapped[int] = mapped_column(ForeignKey("people.id"))
    created_at: Mapped[datetime]
    refused_at: Mapped[datetime | None]

    course: Mapped[Course] = relationship()
    by: Mapped[Person] = relationship(foreign_keys=[invited_by])


class Exercise(Base):
    """One version of an exercise. A row never changes; a changed exercise gets a new row.

    A course's own exercise is a draft until it is published. Publishing sets `number` and `published_at`, once.

    course_id: its course; None for an exercise that comes with Tilelab
    name: the name of its folder
    number: of a published version in its course, from 1 up; None for a draft and for Tilelab's own. The same files
        keep their number when a new judge gives them another digest
    added_by: None for the command line
    version: a hash of everything in it, see server.exercises.stored
    digest: a hash of everything that verdicts depend on; versions with the same digest judge alike
    definition: the text of its exercise.toml
    """

    __tablename__ = "exercises"
    __table_args__ = (
        UniqueConstraint("course_id", "name", "version"),
        UniqueConstraint("course_id", "name", "number", "digest"),
        CheckConstraint("(number IS NULL) = (published_at IS NULL)", name="published_has_number"),
        Index("uq_exercises_draft", "course_id", "name", unique=True, postgresql_where=_DRAFT, sqlite_where=_DRAFT),
        # The constraint above doesn't cover these rows, because each NULL counts as different.
        Index("uq_exercises_shipped", "name", "version", unique=True, postgresql_where=_SHIPPED, sqlite_where=_SHIPPED),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int | None] = mapped_column(ForeignKey("courses.id"))
    name: Mapped[str] = mapped_column(String(60))
    version: Mapped[str] = mapped_column(String(64))
    digest: Mapped[str] = mapped_column(String(64), index=True)
    title: Mapped[str] = mapped_column(String(200))
    definition: Mapped[str] = mapped_column(Text)
    added_at: Mapped[datetime]
    added_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    number: Mapped[int | None]
    published_at: Mapped[datetime | None]


class ExerciseFile(Base):
    """A file of one version of an exercise, such as its handout."""

    __tablename__ = "exercise_files"
    __table_args__ = (CheckConstraint(f"length(content) <= {EXERCISE_FILE_BYTES}", name="content_bounded"),)

    exercise_id: Mapped[int] = mapped_column(ForeignKey("exercises.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)


class Assignment(Base):
    """An assignment: an exercise in a course, with its settings.

    slug: its name in addresses, within the course
    device_class: the GPU that measures it; "" for none
    arch: the architecture to compile for
    tile: None for the exercise's own
    listed: whether students see it once it has opened
    closes_at: until when late submissions are possible; None for as long as the course is active
    late_percent_per_day: the late penalty, in % of the points for each day started after `due_at`
    late_percent_most: the highest late penalty, in % of the points
    goals_percent: the points of an accepted kernel that misses a goal of the exercise, in %
    speed_by: what the tiers for speed compare; None for no tiers
    speed_tiers: such as "0:60 2000:100", see server.grades.points; "" for none
    attempts: for each student; None if unlimited
    min_interval_seconds: between two submissions of one student
    checks_per_hour: free checks for each student
    board_frozen_at: from then on, students see the leaderboards of that moment
    grades_held: whether students don't see their points yet
    first_hint: what students see of a mistake at first; they ask for the rest
    similar_percent: the share from which course staff see similar submissions, in %; 0 to compare none
    board_columns: columns of its leaderboards, such as "speed date"; "" for the usual ones
    board_sort: the column that sorts leaderboards at first, with "-" in front if reversed; "" for the rank
    rubric: the criteria by which course staff give points, see server.grades.criteria; "" for none
    blind: whether course staff grade by the rubric without names
    team_size: how many students may submit together; 1 for none
    position: its place in the course's list; None for after the others, by deadline
    """

    __tablename__ = "assignments"
    __table_args__ = (
        UniqueConstraint("course_id", "slug"),
        CheckConstraint("points >= 0", name="points_not_negative"),
        CheckConstraint("due_at IS NULL OR opens_at IS NULL OR opens_at < due_at", name="opens_before_due"),
        CheckConstraint("tile IS NULL OR tile BETWEEN 1 AND 1024", name="tile_in_range"),
        CheckConstraint("closes_at IS NULL OR due_at IS NULL OR due_at <= closes_at", name="due_before_closes"),
        CheckConstraint("late_percent_per_day BETWEEN 0 AND 100", name="late_percent_in_range"),
        CheckConstraint("late_percent_most BETWEEN 0 AND 100", name="late_percent_most_in_range"),
        CheckConstraint("goals_percent BETWEEN 0 AND 100", name="goals_percent_in_range"),
        CheckConstraint("attempts IS NULL OR attempts > 0", name="attempts_positive"),
        CheckConstraint("min_interval_seconds >= 0", name="interval_not_negative"),
        CheckConstraint("checks_per_hour >= 0", name="checks_not_negative"),
        CheckConstraint("similar_percent BETWEEN 0 AND 100", name="similar_percent_in_range"),
        CheckConstraint("team_size BETWEEN 1 AND 3", name="team_size_in_range"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    exercise_id: Mapped[int] = mapped_column(ForeignKey("exercises.id"))
    slug: Mapped[str] = mapped_column(String(60))
    title: Mapped[str] = mapped_column(String(200))
    device_class: Mapped[str] = mapped_column(String(48), default="")
    arch: Mapped[str] = mapped_column(String(16))
    tile: Mapped[int | None]
    points: Mapped[float] = mapped_column(default=0.0)
    opens_at: Mapped[datetime | None]
    due_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    listed: Mapped[bool] = mapped_column(default=True)
    closes_at: Mapped[datetime | None]
    late_percent_per_day: Mapped[float] = mapped_column(default=0.0)
    attempts: Mapped[int | None]
    min_interval_seconds: Mapped[int] = mapped_column(default=0)
    checks_per_hour: Mapped[int] = mapped_column(default=30)
    counts: Mapped[Counts] = mapped_column(choice(Counts), default=Counts.BEST)
    board_frozen_at: Mapped[datetime | None]
    grades_held: Mapped[bool] = mapped_column(default=False)
    first_hint: Mapped[HintStep] = mapped_column(choice(HintStep, constrained=False), default=HintStep.EDIT)
    late_percent_most: Mapped[float] = mapped_column(default=100.0)
    goals_percent: Mapped[float] = mapped_column(default=100.0)
    speed_by: Mapped[SpeedBy | None] = mapped_column(choice(SpeedBy, constrained=False))
    speed_tiers: Mapped[str] = mapped_column(String(200), default="")
    rubric: Mapped[str] = mapped_column(Text, default="")
    blind: Mapped[bool] = mapped_column(default=False)
    similar_percent: Mapped[int] = mapped_column(default=50)
    team_size: Mapped[int] = mapped_column(default=1)
    position: Mapped[int | None]
    board_columns: Mapped[str] = mapped_column(String(100), default="")
    board_sort: Mapped[str] = mapped_column(String(100), default="")

    course: Mapped[Course] = relationship()
    exercise: Mapped[Exercise] = relationship()

    @property
    def name(self) -> str:
        """Its name in commands and in the audit, such as "demo/tiled"."""
        return f"{self.course.slug}/{self.slug}"

    @property
    def most_points(self) -> float:
        """The most points possible, for the kernel and by the rubric."""
        return self.points + most_of(self.rubric)

    @property
    def practice(self) -> bool:
        """Whether it has no points, no deadline and no measured speeds, so that no gradebook has it."""
        return not (self.most_points or self.due_at or self.device_class)


class Extension(Base):
    """A student's extension for one assignment.

    due_at, closes_at: replace earlier ones of the assignment; None for no change
    extra_attempts: added to the assignment's attempts
    """

    __tablename__ = "extensions"
    __table_args__ = (
        CheckConstraint("closes_at IS NULL OR due_at IS NULL OR due_at <= closes_at", name="due_before_closes"),
        CheckConstraint("extra_attempts >= 0", name="attempts_not_negative"),
        Index(None, "person_id"),
    )

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    due_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    extra_attempts: Mapped[int] = mapped_column(default=0)
    reason: Mapped[str] = mapped_column(String(500), default="")
    granted_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    created_at: Mapped[datetime]

    assignment: Mapped[Assignment] = relationship()
    person: Mapped[Person] = relationship(foreign_keys=[person_id])


class Accommodation(Base):
    """More time for a student in every assignment of a course, also in later ones.

    extra_days: added to the due and the closing time
    extra_percent: of the time between opening and due, added as well
    """

    __tablename__ = "accommodations"
    __table_args__ = (
        CheckConstraint("extra_days >= 0 AND extra_percent >= 0", name="takes_nothing"),
        Index(None, "person_id"),
    )

    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    extra_days: Mapped[int] = mapped_column(default=0)
    extra_percent: Mapped[int] = mapped_column(default=0)
    reason: Mapped[str] = mapped_column(String(500), default="")
    granted_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    granted_at: Mapped[datetime]


class StaffNote(Base):
    """A note about a student, which only the staff of this course see.

    author_id: None for the command line
    """

    __tablename__ = "staff_notes"
    __table_args__ = (Index(None, "course_id", "person_id", "id"), Index(None, "person_id"))

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    course_id: Mapped[int] = mapped_column(ForeignKey("courses.id"))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"))
    author_id: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    text: Mapped[str] = mapped_column(String(LONGEST_NOTE))
    created_at: Mapped[datetime]

    author: Mapped[Person | None] = relationship(foreign_keys=[author_id])


class Correction(Base):
    """What course staff decided about one student's grade for one assignment. Regrades don't change it.

    score: the points instead of the computed ones; None for no change
    excused: whether the assignment doesn't count for the student
    held: whether the student doesn't see the points yet
    reason: for course staff only
    """

    __tablename__ = "corrections"
    __table_args__ = (
        CheckConstraint("score IS NULL OR score >= 0", name="score_not_negative"),
        CheckConstraint("score IS NULL OR NOT excused", name="score_or_excused"),
        Index(None, "person_id"),
    )

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id"), primary_key=True)
    score: Mapped[float | None]
    excused: Mapped[bool] = mapped_column(default=False)
    held: Mapped[bool] = mapped_column(default=False)
    reason: Mapped[str] = mapped_column(String(500), default="")
    corrected_by: Mapped[int | None] = mapped_column(ForeignKey("people.id"))
    corrected_at: Mapped[datetime]
