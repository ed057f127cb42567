"""A mail server on loopback that accepts letters, or refuses them as configured."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage

from headrace.mail.post import Smtp
from headrace.project.model import Mail


class _Session(socketserver.StreamRequestHandler):
    """One conversation in SMTP."""

    server: _Tcp

    def handle(self) -> None:
        self._reply("220 here")
        for line in self.rfile:
            command = line.decode().strip()
            verb = command.split(":")[0].upper()
            answer = next((a for start, a in self.server.office.answers.items() if command.startswith(start)), None)
            if answer == "hang up":
                return
            if answer is None and verb == "DATA":
                self._take()
            elif answer is None and verb == "QUIT":
                return self._reply("221 bye")
            else:
                self._reply(answer or "250 ok")

    def _take(self) -> None:
        self._reply("354 go on")
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line)
        self.server.office.taken.append(b"".join(lines))
        self._reply(self.server.office.after_data.pop(0) if self.server.office.after_data else "250 taken")

    def _reply(self, text: str) -> None:
        if text == "hang up":
            self.connection.close()
        else:
            self.wfile.write(f"{text}\r\n".encode())


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    office: Office


@dataclass
class Office:
    """A mail server; `answers` are its replies to lines by their start, `after_data` those to the next letters."""

    port: int = 0
    taken: list[bytes] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    after_data: list[str] = field(default_factory=list)

    @property
    def letters(self) -> list[EmailMessage]:
        return [message_from_bytes(raw, policy=policy.default) for raw in self.taken]  # type: ignore[misc]

    @property
    def post(self) -> Smtp:
        return Smtp(Mail("127.0.0.1", "shop@example.org", self.port, timeout=5), wait=0)


@contextmanager
def open_office() -> Iterator[Office]:
    """An office for as long as the block lasts."""
    with _Tcp(("127.0.0.1", 0), _Session) as server:
        server.office = Office(server.server_address[1])
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server.office
        server.shutdown()
