"""A TCP proxy that can cut, swallow and stop what goes through it."""

import contextlib
import socket
import struct
import threading


class Meddler:
    """Stands before a server on this machine and passes bytes on, unless told otherwise."""

    def __init__(self, port):
        self.to = port
        self.silent = False
        """Take everything, pass on nothing, both ways."""
        self.swallow_after = None
        """Once a client has sent these bytes, the answer is swallowed and that link is cut; once only."""
        self.swallowed = threading.Event()
        self.closed = False
        self.pairs = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def through(self, url):
        """The address of the server, by way of this."""
        return url.replace(f":{self.to}/", f":{self.port}/")

    def _accept(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.to), 5)
                server.settimeout(None)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.pairs.append((client, server))
            doomed = threading.Event()
            for pump in (self._ask, self._answer):
                threading.Thread(target=pump, args=(client, server, doomed), daemon=True).start()

    def _ask(self, client, server, doomed):
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if self.silent:
                    continue
                if self.swallow_after and self.swallow_after in data:
                    self.swallow_after = None
                    doomed.set()
                server.sendall(data)
        _shut(client, server)

    def _answer(self, client, server, doomed):
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 20):
                if self.silent:
                    continue
                if doomed.is_set():
                    self.swallowed.set()
                    break
                client.sendall(data)
        _shut(client, server)

    def reset(self):
        """RST all connections."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for each in pair:
                with contextlib.suppress(OSError):
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    each.shutdown(socket.SHUT_RD)  # who waits for data keeps it from being closed
                each.close()

    def close(self):
        self.closed = True
        self.listener.close()
        self.reset()


def _shut(*ends):
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
