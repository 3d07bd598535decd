"""HTTP requests to the portal on this machine."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


class NoAnswer(RuntimeError):
    """The portal did not answer, or its answer can't be read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. body: a JSON object."""

    status: int
    body: Mapping[str, Any]


def ask(
    url: str,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: object = None,
    seconds: float = 10.0,
) -> Answer:
    """Send one request, without a proxy because the portal is on this machine. Raises NoAnswer."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=seconds)
    sent = None if body is None else json.dumps(body).encode()
    try:
        connection.request(method, path, sent, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        found = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswer(f"{method} {path}: {type(error).__name__}") from error
    finally:
        connection.close()
    if not isinstance(found, dict):
        raise NoAnswer(f"{method} {path}: not a JSON object")
    return Answer(response.status, found)
