"""A mail server of a test's own, which keeps what it gets."""

from __future__ import annotations

import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from server.settings import MailServer


@dataclass
class Inbox:
    """received: every e-mail, also one whose sender never heard that it arrived.

    silent: whether the connection breaks after the next e-mail, without an answer
    busy: whether the next e-mail's sender is refused for now
    refused: the address that is unknown here
    tls: as in MailServer; certificate: with its key, needed for TLS
    """

    port: int = 0
    received: list[EmailMessage] = field(default_factory=list)
    silent: bool = False
    busy: bool = False
    refused: str = ""
    tls: str = "none"
    certificate: Path | None = None

    @property
    def server(self) -> MailServer:
        return MailServer("127.0.0.1", self.port, self.tls, "", "", "tilelab@tilelab.example")

    def subjects(self, name: str) -> list[str]:
        """Of the e-mails to the person of that name."""
        return sorted(str(each["Subject"]) for each in self.received if str(each["To"]) == f"{name}@example.edu")


class _Conversation(socketserver.StreamRequestHandler):
    inbox: Inbox

    def setup(self) -> None:
        if self.inbox.tls == "tls":
            self._secure()
        super().setup()

    def handle(self) -> None:
        self._say(b"220 ready")
        while line := self.rfile.readline():
            verb = line[:4].upper()
            if verb == b"QUIT":
                self._say(b"221 bye")
                return
            if verb == b"EHLO" and self.inbox.tls == "starttls":
                self._say(b"250-hello")
                self._say(b"250 STARTTLS")
                continue
            if verb == b"STAR":
                self._say(b"220 go on")
                self._secure()
                super().setup()
                continue
            if verb == b"DATA":
                self._say(b"354 go on")
                text = b"".join(iter(self.rfile.readline, b".\r\n"))
                message = message_from_bytes(text, policy=policy.default)
                assert isinstance(message, EmailMessage)
                self.inbox.received.append(message)
                if self.inbox.silent:
                    self.inbox.silent = False
                    return
            refused = verb == b"RCPT" and bool(self.inbox.refused) and self.inbox.refused.encode() in line
            busy = verb == b"MAIL" and self.inbox.busy
            self.inbox.busy = self.inbox.busy and not busy
            self._say(b"451 later" if busy else b"550 unknown" if refused else b"250 fine")

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def _secure(self) -> None:
        assert self.inbox.certificate is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.inbox.certificate)
        self.request = context.wrap_socket(self.request, server_side=True)

    def _say(self, line: bytes) -> None:
        self.wfile.write(line + b"\r\n")


class _Server(socketserver.ThreadingTCPServer):
    def handle_error(self, *_: object) -> None:
        """A client that trusts no certificate breaks off."""


@contextmanager
def inbox(tls: str = "none", certificate: Path | None = None) -> Iterator[Inbox]:
    """A mail server on this machine, as long as the test uses it."""
    kept = Inbox(tls=tls, certificate=certificate)
    handler = type("_Kept", (_Conversation,), {"inbox": kept})
    with _Server(("127.0.0.1", 0), handler) as server:
        kept.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()
