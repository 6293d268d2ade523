"""A proxy between a client and a PostgreSQL server that cuts or holds a connection at a chosen statement."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from typing import Self

import sqlalchemy as sa

_LONGEST = 60  # seconds that a connection may be silent: nothing waits for ever
_HELD_BACK = b"PBDEC"  # parts of a statement; the server would execute them before it has the end
_ENDS = b"QS"  # a simple query; the end of a prepared one


class Action(Enum):
    """What happens with a statement."""

    FORWARD = auto()
    CUT_BEFORE = auto()  # the server never sees it
    CUT_AFTER = auto()  # the server has done it, and the client never hears of it


class CuttingProxy:
    """Forward connections of the loopback interface; ask `decide` for each statement, numbered from 1."""

    def __init__(self, server: sa.engine.URL) -> None:
        self._target = (str(server.host), int(server.port or 0))
        self._listening = socket.create_server(("127.0.0.1", 0))
        options = {"sslmode": "disable", "gssencmode": "disable"}
        self.url = server.set(port=self._listening.getsockname()[1]).update_query_dict(options)
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.watch(lambda number: Action.FORWARD)
        threading.Thread(target=self._accept, daemon=True).start()

    def watch(self, decide: Callable[[int], Action]) -> Self:
        """Count statements from the start again, and let `decide` say what happens with each."""
        self.statements = 0
        self._decide = decide
        return self

    def close(self) -> None:
        """Close the door and every connection."""
        for each in (self._listening, *self._sockets):
            _close(each)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._target)
                for each in (client, server):
                    each.settimeout(_LONGEST)
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets += [client, server]
                last = threading.Event()
                for work in (self._ask, self._answer):
                    threading.Thread(target=_pump, args=(work, client, server, last), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket, last: threading.Event) -> None:
        """Forward what the client sends, a whole statement at a time."""
        (length,) = struct.unpack("!I", start := _receive(client, 4))
        server.sendall(start + _receive(client, length - 4))
        statement = b""
        while True:
            kind, message = _receive_message(client)
            statement += message
            if kind in _HELD_BACK:
                continue
            if kind in _ENDS:
                with self._lock:
                    self.statements += 1
                    number = self.statements
                action = self._decide(number)
                if action is Action.CUT_BEFORE:
                    return
                if action is Action.CUT_AFTER:
                    last.set()
            server.sendall(statement)
            statement = b""
            if last.is_set():
                _receive(client, 1)  # until the other direction has seen the answer and cuts

    @staticmethod
    def _answer(client: socket.socket, server: socket.socket, last: threading.Event) -> None:
        """Forward what the server sends; of the answer to the last statement nothing."""
        while True:
            kind, message = _receive_message(server)
            if last.is_set():
                if kind in b"ZG":  # done, or ready for the rows of a COPY
                    return
            else:
                client.sendall(message)


@contextmanager
def cutting_proxy(server: sa.engine.URL) -> Iterator[CuttingProxy]:
    """Open a proxy in front of a server, and close it and its connections."""
    proxy = CuttingProxy(server)
    try:
        yield proxy
    finally:
        proxy.close()


def _pump(
    work: Callable[[socket.socket, socket.socket, threading.Event], None],
    client: socket.socket,
    server: socket.socket,
    last: threading.Event,
) -> None:
    """Work until the connection ends on one side, then end it on both."""
    with suppress(OSError, EOFError):
        work(client, server, last)
    _close(client)
    _close(server)


def _receive_message(place: socket.socket) -> tuple[bytes, bytes]:
    """Receive one message of the protocol: a letter, a length that counts itself, a body."""
    head = _receive(place, 5)
    (length,) = struct.unpack("!I", head[1:])
    return head[:1], head + _receive(place, length - 4)


def _receive(place: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = place.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return found


def _close(place: socket.socket) -> None:
    with suppress(OSError):
        place.shutdown(socket.SHUT_RDWR)
    place.close()
