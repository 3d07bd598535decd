"""The portal as an operator starts it, but with limits so wide that they are hardly ever what answers.

python -m tests.fuzz_api.server DATABASE_URL PORT
"""

from __future__ import annotations

import sys
from dataclasses import replace

from server.accounts import identity
from server.settings import Settings
from server.submissions import allowance
from server.submissions.progress import streams
from server.web.web_server import listen, serve

NOBODY = "redis://127.0.0.1:1/0"
_WIDE = 10**9


def main(database_url: str, port: int) -> None:
    allowance.SUBMITS = replace(allowance.SUBMITS, count=_WIDE)
    allowance.MOST_A_DAY = _WIDE
    identity.BAD_TOKENS = replace(identity.BAD_TOKENS, count=_WIDE)
    # nothing is graded while a stream is read, so it would go on until somebody gives up
    streams.LIFETIME_SECONDS = 0.3
    streams.BEAT_SECONDS = 0.1
    serve(Settings(database_url, NOBODY), listen("127.0.0.1", port), processes=2)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
