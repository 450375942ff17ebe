"""A TCP proxy that can cut, freeze and swallow what passes."""

import contextlib
import socket
import struct
import threading


class Wire:
    """Passes bytes on, unless told otherwise."""

    def __init__(self, port):
        self.to = port
        self.silent = False
        """Swallow everything, both ways."""
        self.swallow_after = None
        """Once the client has sent these bytes, its reply is swallowed and the link is cut."""
        self.closed = False
        self.pairs = []
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, server_url):
        head, _, tail = server_url.partition("@127.0.0.1:")
        return f"{head}@127.0.0.1:{self.port}/{tail.partition('/')[2]}"

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
            for source, sink, asking in ((client, server, True), (server, client, False)):
                threading.Thread(
                    target=self._pump, args=(source, sink, asking, doomed), daemon=True
                ).start()

    def _pump(self, source, sink, asking, doomed):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.silent:
                    continue
                if asking and self.swallow_after and self.swallow_after in data:
                    self.swallow_after = None
                    doomed.set()
                if doomed.is_set() and not asking:
                    break
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
