"""Collect a connection's bytes until a request is complete, so that no thread waits for slow clients."""

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
"""Of a whole request: fits a source of 64 KiB with each character escaped."""

LARGEST_FORM = 2**20
"""Fits a source above the limit, so that the page can name its size and keep its text."""

LONGEST_HEAD = 64 * 2**10
"""In bytes: the request line and all headers."""

READS = frozenset({"GET", "HEAD", "OPTIONS"})

_END_OF_HEAD = re.compile(rb"\r\n\r\n|(?<!\r)\n")  # a bare line feed doesn't end a head; the parser refuses it
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})[^\r\n]*\r\n")
_LONGEST_CHUNK_LINE = 8190
_TIMES_FRAMED = 2


@dataclass(frozen=True, slots=True)
class BodySizes:
    """Limits in bytes. usual: most requests, and any without a length; large: the few that may be larger."""

    usual: int = REQUEST_BYTES
    large: int = LARGEST_FORM


class MissingBody(Body):
    """The body of a request that is answered without it. why: "slow", "broken" or "busy"; "" if too large."""

    def __init__(self, reader: LengthReader | ChunkedReader, why: str) -> None:
        super().__init__(reader)
        self.why = why


class Arrival:
    """Parse one request after the other from the bytes of a connection.

    request: the current one, once its head is complete
    waits_for_leave: whether the client waits for "100 Continue" before it sends the body
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
        """Bytes of a request that isn't complete."""
        return len(self._held)

    @property
    def begun(self) -> bool:
        return self.request is not None or bool(self._held.strip())

    @property
    def large(self) -> bool:
        """Whether a body of more than the usual size is expected."""
        return self.request is not None and self._sizes.usual < self._length() <= self._sizes.large

    @property
    def only_reads(self) -> bool:
        """Whether the request changes nothing and has no body."""
        return self.request is not None and self.request.method in READS and self._length() == 0

    def add(self, data: bytes) -> bool:
        """Add received bytes. Returns whether a request is ready.

        raise (ParseException, StopIteration): the bytes aren't a valid request, and the connection must close
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
        """Answer the request without its body. why: see MissingBody."""
        assert self.request is not None
        assert self.request.body is not None
        reader = self.request.body.reader
        assert isinstance(reader, LengthReader | ChunkedReader)
        self.request.body = MissingBody(reader, why)
        self._held = bytearray()
        self.request.force_close()

    def next(self) -> bool:
        """Go on after an answer. Returns whether the next request is ready, or raises as `add`."""
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
        # A private attribute of gunicorn: if it stays set, gunicorn sends "100 Continue" again after the body.
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
        """The Content-Length; -1 for a chunked body."""
        reader = self._reader()
        return reader.length if isinstance(reader, LengthReader) else -1

    def _reader(self) -> object:
        assert self.request is not None
        assert self.request.body is not None
        return self.request.body.reader


class _Collected(Unreader):
    """A reader of bytes that were received already; never waits for more."""

    def chunk(self, _size: int | None = None) -> bytes:
        return b""


class _Chunks:
    """Find the end of a chunked body without looking twice at the same bytes.

    An invalid chunk ends it too: the reader of the body then reports the mistake.
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
        """Whether these bytes can't become the start of a chunk."""
        line = held[self._place : self._place + _LONGEST_CHUNK_LINE]
        return b"\n" in line or len(line) == _LONGEST_CHUNK_LINE
