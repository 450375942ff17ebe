"""A TCP proxy that can cut, swallow and stop what goes through it."""

import contextlib
import socket
import struct
import threading


class Meddler:
    """Passes bytes on, unless told otherwise."""

    def __init__(self, port):
        self.to = port
        self.swallow_replies_after = None
        """Once the client has sent these bytes, nothing of what the server says comes back."""
        self.deaf = False
        """Take everything, pass on nothing."""
        self.closed = False
        self.pairs = []
        self.swallowed = threading.Event()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.to))
            with self.lock:
                self.pairs.append((client, server))
            state = {"mute": False}
            for pump in (self._up, self._down):
                threading.Thread(target=pump, args=(client, server, state), daemon=True).start()

    def _up(self, client, server, state):
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if self.deaf:
                    continue
                wanted = self.swallow_replies_after
                if wanted is not None and wanted in data:
                    state["mute"] = True
                server.sendall(data)
        self._shut(client, server)

    def _down(self, client, server, state):
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 20):
                if self.deaf:
                    continue
                if state["mute"]:
                    self.swallowed.set()
                    break
                client.sendall(data)
        self._shut(client, server)

    @staticmethod
    def _shut(*ends):
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

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
