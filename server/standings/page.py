"""A leaderboard as a page shows it: names, columns, and links to its other parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from sqlalchemy.orm import Session

from kernels.analysis.devices import devices
from kernels.exercise.model import Metric
from kernels.ladder import shipped_ladder
from kernels.rendering.measured_numbers import ms_text, speed_text
from kernels.rendering.page import numbers
from kernels.wording import sizes_text
from server.courses.access import Reader
from server.courses.models import Assignment, Exercise
from server.grading.metric import UNITS, metric_of, ranking_of
from server.standings.answers import line_of
from server.standings.board_query import ORDERS, Query, Shown, columns_for, mark_of, position_at
from server.standings.queries import PAGE, Order, Ranked, Selection, position_of, read_around, read_own, read_part
from server.standings.ranks import CPU, BoardKey, Ranks, class_of, classes
from worker.contract.answers import Line

LADDER_CLASS = "h200"
"""The device class on which all reference ladders were measured."""

_SEARCHED_FROM = 10
_FASTEST = ("fastest first", "slowest first")
_COLUMNS = {
    Order.RANK: ("Speed", "measured", *_FASTEST),
    Order.TIME: ("Median time", "measured", *_FASTEST),
    Order.SHARE: ("Of cuBLAS", "measured", "highest share of cuBLAS first", "lowest share of cuBLAS first"),
    Order.OCCUPANCY: ("Occupancy", "modelled", "highest occupancy first", "lowest occupancy first"),
    Order.DATE: ("Submitted", "", "newest first", "oldest first"),
    Order.BOUND: ("Speed of light", "modelled", "best speed of light first", "worst speed of light first"),
    Order.LAUNCH: ("Tile · grid · block", "", "largest tile first", "smallest tile first"),
}
"""The title and basis of each order's column, what the order has first, and what if it is reversed."""
_SINCE = ("earliest accepted first", "latest accepted first")


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to one of the assignment's leaderboards. about: a description of the device."""

    title: str
    about: str
    address: str
    here: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column that readers can sort by.

    sorted: "", "ascending" or "descending"
    address: sorts by this column, or reverses the order if the page is sorted by it
    """

    code: Shown
    title: str
    basis: str
    sorted: str
    address: str


@dataclass(frozen=True, slots=True)
class KnownKernel:
    """A kernel of the exercise's reference ladder, with its speed as a number and in words."""

    title: str
    gflops: float
    speed: str


@dataclass(frozen=True, slots=True)
class BoardPage:
    """Everything that the page shows.

    previous, next, mine: addresses of other parts; "" for none
    in_order: what comes first, in a few words
    measured: whether the leaderboard has speeds
    ranking: the sizes that kernels are ranked with
    known: kernels with speeds of another machine, if this leaderboard has none
    own: the reader's line if it is on another page
    called: the reader's name for other students; "" if the reader isn't on the leaderboard
    listed: whether other students see the reader's line
    total: listed lines; unlisted: for course staff, how many others there are
    everybody: the address without the search
    unseen: whether the search stopped before the last line
    frozen: when the leaderboard was frozen; freezes: when it will be
    frozen_view: whether this is the frozen leaderboard, which students see
    other_view: for course staff, switches between the frozen and the live leaderboard
    """

    course: str
    course_title: str
    course_zone: str
    assignment: str
    title: str
    device_class: str
    device: str
    in_order: str
    measured: bool
    tabs: tuple[Tab, ...]
    columns: tuple[Column, ...]
    metric: Metric
    ranking: str
    known: tuple[KnownKernel, ...]
    lines: tuple[Line, ...]
    own: Line | None
    called: str
    listed: bool
    total: int
    unlisted: int
    query: Query
    path: str
    previous: str
    next: str
    mine: str
    everybody: str
    unseen: bool
    staff: bool
    frozen: datetime | None
    freezes: datetime | None
    frozen_view: bool
    other_view: str

    @property
    def searchable(self) -> bool:
        """Whether the page has a search field: a short leaderboard is read faster than searched."""
        return self.total + self.unlisted > _SEARCHED_FROM or bool(self.query.text)

    @property
    def live(self) -> bool:
        """Whether the page refreshes itself."""
        return not self.frozen_view

    def value(self, value: float | None) -> str:
        return "–" if value is None else f"{self._number(value)}{numbers.SPACE}{UNITS[self.metric]}"

    def interval(self, line: Line) -> str:
        low, high = map(self._number, line.interval or (0.0, 0.0))
        return low if low == high else f"{low} to {high}"

    def number(self, line: Line, column: Shown) -> str:
        if column is Shown.BOUND:
            return self.value(line.modelled_bound)
        if column is Shown.TIME:
            return "–" if line.ms is None else f"{ms_text(line.ms)}{numbers.SPACE}ms"
        share = line.cublas_share if column is Shown.SHARE else line.occupancy
        return "–" if share is None else numbers.percent(share)

    def _number(self, value: float) -> str:
        return ms_text(value) if self.metric is Metric.TIME else speed_text(value)


def read_page(session: Session, reader: Reader, assignment: Assignment, name: str, query: Query) -> BoardPage:
    """Read the requested part of a leaderboard. name: the device class, as in addresses."""
    now = datetime.now(UTC)
    device_class = class_of(name)
    frozen_at = assignment.board_frozen_at
    frozen = frozen_at is not None and frozen_at <= now
    frozen_view = frozen and (query.frozen or not reader.course.is_staff)
    key = BoardKey(assignment.id, device_class, before_freeze=frozen_view)
    ranks = Ranks(session, key)
    own = read_own(session, key, reader.viewer.id, ranks)
    asked = _asked(session, reader, key, query, own)
    staff = reader.course.is_staff
    part = read_part(session, key, asked, ranks)
    metric = metric_of(assignment.exercise)
    path = f"/courses/{reader.course.slug}/{assignment.slug}/board/"
    shown = {row.person_id for row in part.rows}
    away = own is not None and own.person_id not in shown and not query.text
    here = path + name
    line = partial(line_of, metric=metric, measured=bool(device_class), reader=reader.viewer.id, staff=staff)
    return BoardPage(
        course=reader.course.slug,
        course_title=reader.course.title,
        course_zone=reader.course.time_zone,
        assignment=assignment.slug,
        title=assignment.title,
        device_class=name,
        device=device_title(name),
        in_order=_in_order(query, measured=bool(device_class)),
        measured=bool(device_class),
        tabs=_tabs(session, assignment, path, name, reader),
        columns=_columns(here, query, UNITS[metric], assignment.board_columns, measured=bool(device_class)),
        metric=metric,
        ranking=sizes_text(ranking_of(assignment.exercise)),
        known=() if device_class else _known_kernels(assignment.exercise),
        lines=tuple(map(line, part.rows)),
        own=line(own) if own is not None and away else None,
        called=own.shown if own is not None else "",
        listed=own is None or own.listed,
        total=part.total,
        unlisted=ranks.unlisted if staff else 0,
        query=query,
        path=here,
        previous=_to(here, query, before=mark_of(part.rows[0], query.order)) if part.earlier and part.rows else "",
        next=_to(here, query, after=mark_of(part.rows[-1], query.order)) if part.later and part.rows else "",
        mine=here + replace(Query(frozen=query.frozen), mine=True).address() if away else "",
        everybody=here + replace(query.first(), text="").address(),
        unseen=part.unseen,
        staff=staff,
        frozen=frozen_at if frozen else None,
        freezes=None if frozen else frozen_at,
        frozen_view=frozen_view,
        other_view=_other_view(here, query) if frozen and staff else "",
    )  # fmt: skip


def _known_kernels(exercise: Exercise) -> tuple[KnownKernel, ...]:
    """The reference ladder of a shipped exercise, at the sizes that kernels are ranked with."""
    ladder = shipped_ladder(exercise.name) if exercise.course_id is None else None
    if ladder is None or metric_of(exercise) is not Metric.GFLOPS:
        return ()
    size = max(ranking_of(exercise).values(), default=1)
    found = [(rung.title, rung.figures[LADDER_CLASS].at(size)) for rung in ladder.rungs if LADDER_CLASS in rung.figures]
    return tuple(
        KnownKernel(title, gflops, f"{speed_text(gflops)}{numbers.SPACE}{UNITS[Metric.GFLOPS]}")
        for title, gflops in found
    )


def own_class(assignment: Assignment) -> str:
    """The device class of the leaderboard that an assignment opens with."""
    return board_class(assignment.device_class)


def board_class(device_class: str) -> str:
    """Name a device class in a leaderboard's address; "" is for an assignment that no GPU measures."""
    return device_class or CPU


def has_board(session: Session, assignment: Assignment, name: str, reader: Reader) -> bool:
    """Whether a leaderboard exists: the assignment's own device class, or a class with lines for the reader."""
    return name == own_class(assignment) or class_of(name) in _classes(session, assignment, reader)


def device_title(name: str) -> str:
    if name == CPU:
        return "CPU device: kernels are checked and counted, but not measured"
    device = devices().get(name)
    if device is None:
        return f"device class {name}"
    return f"{device.title}, {device.multiprocessors} multiprocessors, compute capability {device.cc}"


def _asked(session: Session, reader: Reader, key: BoardKey, query: Query, own: Ranked | None) -> Selection:
    selection = Selection(
        query.order, query.turned, text=query.text, reader=reader.viewer.id, staff=reader.course.is_staff
    )
    if query.mine and own is not None and not query.text:
        first = read_around(session, key, own, PAGE // 2, selection)[0]
        if first.person_id != own.person_id:
            # A part begins behind a position, so this leaves out the first neighbour.
            return replace(selection, order=Order.RANK, turned=False, after=position_of(first))
    return replace(
        selection,
        after=position_at(query.after, query.order),
        before=position_at(query.before, query.order) if not query.after else None,
    )


def _classes(session: Session, assignment: Assignment, reader: Reader) -> list[str]:
    return classes(session, assignment.id, None if reader.course.is_staff else reader.viewer.id)


def _tabs(session: Session, assignment: Assignment, path: str, here: str, reader: Reader) -> tuple[Tab, ...]:
    own = own_class(assignment)
    others = [name or CPU for name in _classes(session, assignment, reader)]
    names = [own, *(name for name in others if name != own)]
    return tuple(Tab(_tab_title(name), device_title(name), path + name, name == here) for name in names)


def _tab_title(name: str) -> str:
    if name == CPU:
        return "CPU device"
    device = devices().get(name)
    return device.title if device is not None else name


def _in_order(query: Query, *, measured: bool) -> str:
    usual, turned = _COLUMNS[query.order][2:] if measured or query.order is not Order.RANK else _SINCE
    return turned if query.turned else usual


def _columns(path: str, query: Query, unit: str, chosen: str, *, measured: bool) -> tuple[Column, ...]:
    by_time = unit == "ms"
    titles = ({Order.RANK: "Time"} if by_time else {}) | ({} if measured else {Order.DATE: "Accepted since"})
    lower_is_better = {Shown.TIME, *((Shown.SPEED, Shown.BOUND) if by_time else ())}
    found = []
    for column in columns_for(chosen, measured=measured):
        title, basis, *_ = _COLUMNS[ORDERS[column]]
        title = titles.get(ORDERS[column], title)
        found.append(_column(path, query, column, title, basis, lower_is_better=column in lower_is_better))
    return tuple(found)


def _column(path: str, query: Query, code: Shown, title: str, basis: str, *, lower_is_better: bool) -> Column:
    order = ORDERS[code]
    here = query.order is order
    way = ("descending" if lower_is_better == query.turned else "ascending") if here else ""
    turned = here and not query.turned
    address = path + replace(query.first(), order=order, turned=turned).address()
    return Column(code, title, basis, way, address)


def _other_view(path: str, query: Query) -> str:
    return path + replace(query.first(), frozen=not query.frozen).address()


def _to(path: str, query: Query, *, after: str = "", before: str = "") -> str:
    return path + replace(query, after=after, before=before, mine=False).address()
