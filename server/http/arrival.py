"""The bytes of a connection, collected until a whole request is there; only then a thread has to look at it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gunicorn.config import Config
from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.errors import InvalidHeader, LimitRequestHeaders, NoMoreData
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import Unreader

REQUEST_BYTES = 256 * 2**10
"""Of a whole request: a source of 64 KiB, each of its characters escaped, fits in."""

LARGEST_FORM = 2**20
"""A file that is too large for a source is read, so that the page can say so and keep what was typed."""

LONGEST_HEAD = 64 * 2**10
"""In bytes: the request line and all headers."""

_END_OF_HEAD = re.compile(
    rb"\r\n\r\n|(?<!\r)\n"
)  # a bare line feed: no head ends after it, and the parser says so
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})[^\r\n]*\r\n")
_LONGEST_CHUNK_LINE = 8190
_TIMES_FRAMED = 2


@dataclass(frozen=True, slots=True)
class BodySizes:
    """In bytes. usual: of most requests, and of any without a length; large: of the few that may have more."""

    usual: int = REQUEST_BYTES
    large: int = LARGEST_FORM


class MissingBody(Body):
    """The body of a request that is answered without it. why: "slow", "broken" or "busy"; "" for one too large."""

    def __init__(self, reader: LengthReader | ChunkedReader, why: str) -> None:
        super().__init__(reader)
        self.why = why


class Arrival:
    """One request after the other, as their bytes come.

    request: the present one, once its head is here
    waits_for_leave: whether its sender sends the body only once it is told to
    """

    def __init__(self, cfg: Config, client: tuple[str, int], sizes: BodySizes) -> None:
        self._sizes = sizes
        self._parser = RequestParser(cfg, [], client)
        self._parser.unreader = self._unreader = _Collected()
        self._held = bytearray()
        self._looked = 0
        self._chunks = _Chunks()
        self.request: Request | None = None
        self.waits_for_leave = False

    @property
    def held(self) -> int:
        """Bytes of a request that isn't whole yet."""
        return len(self._held)

    @property
    def begun(self) -> bool:
        return self.request is not None or bool(self._held.strip())

    @property
    def large(self) -> bool:
        """Whether a body of more than the usual size is awaited."""
        return self.request is not None and self._sizes.usual < self._length() <= self._sizes.large

    def add(self, data: bytes) -> bool:
        """Take what came. Returns whether a request can be answered.

        raise (ParseException, StopIteration): what came is no request; nothing more can be read here
        """
        self._held += data
        if self.request is None and not self._take_head():
            return False
        if not self._body_ends():
            return False
        self._unreader.unread(self._held)
        self._held = bytearray()
        return True

    def cut(self, why: str) -> None:
        """Answer the request although its body is not here; why: as of MissingBody."""
        assert self.request is not None
        assert self.request.body is not None
        reader = self.request.body.reader
        assert isinstance(reader, LengthReader | ChunkedReader)
        self.request.body = MissingBody(reader, why)
        self._held = bytearray()
        self.request.force_close()

    def next(self) -> bool:
        """The request is answered; returns whether the next one is here already, or raises as `add`."""
        assert self.request is not None
        assert self.request.body is not None
        while self.request.body.read(2**16):
            pass
        self.request, self._looked, self._chunks = None, 0, _Chunks()
        return self.add(self._unreader.take_buffered())

    def _take_head(self) -> bool:
        ends = _END_OF_HEAD.search(self._held, max(0, self._looked - 3))
        self._looked = len(self._held)
        if ends is None and len(self._held) <= LONGEST_HEAD:
            return False
        self._unreader.unread(self._held)
        self._held = bytearray()
        try:
            self.request = next(self._parser)
        except NoMoreData as error:
            raise (LimitRequestHeaders("head") if ends is None else InvalidHeader("head")) from error
        # A private attribute of gunicorn: where it stays set, gunicorn says it again once all of the body is here.
        self.waits_for_leave = bool(vars(self.request).pop("_expected_100_continue", False))
        self._held += self._unreader.take_buffered()
        return True

    def _body_ends(self) -> bool:
        if isinstance(self._reader(), ChunkedReader):
            if self._chunks.end(self._held):
                return True
            too_large = len(self._held) > _TIMES_FRAMED * self._sizes.usual
        else:
            too_large = self._length() > self._sizes.large
        if too_large:
            self.cut("")
        return too_large or len(self._held) >= self._length() > -1

    def _length(self) -> int:
        """As it was told; -1 for a body in chunks."""
        reader = self._reader()
        return reader.length if isinstance(reader, LengthReader) else -1

    def _reader(self) -> object:
        assert self.request is not None
        assert self.request.body is not None
        return self.request.body.reader


class _Collected(Unreader):
    """What was read already; it never waits for more."""

    def chunk(self, _size: int | None = None) -> bytes:
        return b""


class _Chunks:
    """Where a body in chunks ends, found without looking twice at the same bytes.

    What is no chunk ends it too: whoever reads the body then says what is wrong with it.
    """

    def __init__(self) -> None:
        self._place = 0
        self._last = False

    def end(self, held: bytearray) -> bool:
        while not self._last:
            found = _CHUNK.match(held, self._place)
            if found is None:
                return self._is_none(held)
            size = int(found[1], 16)
            self._last = size == 0
            self._place = found.end() - 2 if self._last else found.end() + size + 2
        ends = held.find(b"\r\n\r\n", self._place)
        self._place = max(self._place, len(held) - 3) if ends < 0 else self._place
        return ends >= 0

    def _is_none(self, held: bytearray) -> bool:
        """Whether what stands where a chunk should begin cannot become one."""
        line = held[self._place : self._place + _LONGEST_CHUNK_LINE]
        return b"\n" in line or len(line) == _LONGEST_CHUNK_LINE
