"""Students who hand in: each request is made again, with the same key, until it is accepted."""

from __future__ import annotations

import json
import random
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.faults.course import ASSIGNMENT, Kernel

_WAIT_SECONDS = 10.0
_AGAIN_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class SubmissionInput:
    """A submission that was accepted, and the verdict that it must get."""

    id: str
    kernel: str
    verdict: str


@dataclass(slots=True)
class Load:
    """Hands in `total` submissions over `seconds`, by several students at once.

    accepted: those that were answered with 202
    tries: requests that were made, those that failed included
    refused: answers that no client can expect, such as a 500; none may be there
    probes: submissions beside the total, made by `probe`
    """

    url: str
    tokens: Sequence[str]
    kernels: Sequence[Kernel]
    total: int
    seconds: float
    seed: int
    accepted: list[SubmissionInput] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    tries: int = 0
    probes: int = 0
    _threads: list[threading.Thread] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        for number, token in enumerate(self.tokens):
            share = self.total // len(self.tokens) + (number < self.total % len(self.tokens))
            arguments = (token, share, random.Random(self.seed * 1000 + number))
            self._threads.append(threading.Thread(target=self._student, args=arguments, daemon=True))
        for thread in self._threads:
            thread.start()

    @property
    def over(self) -> bool:
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def expected(self) -> int:
        """How many have to be accepted in the end."""
        return self.total + self.probes

    def probe(self) -> float:
        """Submit now; how many seconds it takes until that is accepted, however often it has to be tried."""
        begun = time.monotonic()
        dice = random.Random(self.seed * 1000 + 999 - self.probes)
        self.probes += 1
        self._hand_in(self.tokens[self.probes % len(self.tokens)], self.kernels[0], dice.getrandbits(64))
        return time.monotonic() - begun

    def _student(self, token: str, number: int, dice: random.Random) -> None:
        begin = time.monotonic()
        moments = sorted(dice.uniform(0, self.seconds) for _ in range(number))
        for moment in moments:
            time.sleep(max(0.0, begin + moment - time.monotonic()))
            (kernel,) = dice.choices(self.kernels, [kernel.weight for kernel in self.kernels])
            self._hand_in(token, kernel, dice.getrandbits(64))

    def _hand_in(self, token: str, kernel: Kernel, number: int) -> None:
        body = {"assignment": ASSIGNMENT, "source": f"{kernel.source}\n// {number}\n", "mode": "rank"}
        request = urllib.request.Request(
            f"{self.url}/api/v1/submissions",
            json.dumps(body).encode(),
            {
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/json",
                "Idempotency-Key": str(uuid.UUID(int=number)),
            },
        )
        while True:
            with self._lock:
                self.tries += 1
            try:
                with urllib.request.urlopen(request, timeout=_WAIT_SECONDS) as answer:
                    found = json.load(answer)
            except urllib.error.HTTPError as error:
                # the database is away for a moment; anything else is a defect
                if error.code != 503:
                    self.refused.append(f"{error.code}: {error.read()[:300]!r}")
            except (OSError, ValueError):
                pass  # the portal died before or while it answered
            else:
                with self._lock:
                    self.accepted.append(SubmissionInput(found["id"], kernel.name, kernel.verdict))
                return
            time.sleep(_AGAIN_SECONDS)
