"""TLS in front of a Redis that was built without it. Arguments: port, port of Redis, certificate, key."""

from __future__ import annotations

import asyncio
import ssl
import sys
from contextlib import closing, suppress


async def passed_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with closing(sink), suppress(OSError):
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()


async def main(port: int, behind: int, certificate: str, key: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection("127.0.0.1", behind)
        await asyncio.gather(passed_on(reader, ours), passed_on(theirs, writer))

    async with await asyncio.start_server(serve, port=port, ssl=context) as server:
        print("ready", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
