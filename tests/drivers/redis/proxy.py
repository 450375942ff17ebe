"""A TCP proxy that can cut, freeze and drop connections."""

import contextlib
import socket
import struct
import threading


class Proxy:
    """Passes bytes on, unless told otherwise."""

    def __init__(self, port):
        self.to = port
        self.frozen = threading.Event()
        self.mute = False
        self.closed = False
        self.pairs = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def _accept(self):
        while not self.closed:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.mute:
                with self.lock:
                    self.pairs.append((client, client))
                continue
            server = socket.create_connection(("127.0.0.1", self.to))
            with self.lock:
                self.pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.mute:
                    continue
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def reset(self):
        """RST all connections."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for each in pair:
                with contextlib.suppress(OSError):
                    each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def close(self):
        self.closed = True
        self.listener.close()
        self.reset()
