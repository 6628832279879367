# SPDX-License-Identifier: Apache-2.0
"""An HTTP proxy on loopback that stands before an object store and does what networks and servers do.

    proxy = Proxy(gateway.port)
    proxy.act = lambda request: DROP_AFTER if request.number == 7 else PASS

`act` is asked for each request and answers what is to become of it: one of the words, or a function of head and body of the
server's answer that gives what the client gets. Requests are numbered from 1; proxy.reset() begins anew.
The signature covers the Host header, which is passed on as it came.
"""
import re
import socket
import threading
import time

PASS, ERROR_500, BUSY_503, DROP_BEFORE, DROP_AFTER, TRUNCATE, SLOW, STALE, ACCESS_DENIED = range(9)

REFUSALS = {ERROR_500: (b"500 Internal Server Error", b"InternalError"), BUSY_503: (b"503 Slow Down", b"SlowDown"),
            ACCESS_DENIED: (b"403 Forbidden", b"AccessDenied")}


class Request:
    def __init__(self, number, head, body):
        self.number, self.head, self.body = number, head, body
        self.method, self.target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)

    def header(self, name):
        found = re.search(rb"(?im)^" + re.escape(name.encode()) + rb":[ \t]*([^\r\n]*)", self.head)
        return found.group(1).decode("latin-1") if found else None

    @property
    def conditional(self):
        return bool(self.header("if-match") or self.header("if-none-match"))

    @property
    def live_put(self):
        return self.method == "PUT" and self.target.endswith("/part.parquet") and self.conditional


def read_message(stream, bodiless=False):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None, b""
        head += line
    status = head.split(b" ", 2)[1] if head.startswith(b"HTTP/") else b""
    if bodiless or status in (b"204", b"304"):
        return head, b""
    length = re.search(rb"(?im)^content-length:[ \t]*(\d+)", head)
    if length:
        return head, stream.read(int(length.group(1)))
    if re.search(rb"(?im)^transfer-encoding:[ \t]*chunked", head):
        body = b""
        while True:
            size = stream.readline()
            chunk = stream.read(int(size, 16) + 2)
            body += size + chunk
            if int(size, 16) == 0:
                return head, body
    return head, b""


class Proxy:
    def __init__(self, upstream):
        self.upstream, self.act, self.requests = upstream, lambda request: PASS, []
        self.lock, self.pages, self.open = threading.Lock(), {}, True
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def stop(self):
        self.open = False
        self.listener.close()

    def reset(self, act=None):
        with self.lock:
            self.requests = []
            self.act = act or (lambda request: PASS)

    def accept(self):
        while self.open:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.upstream)) as server:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            come, go = client.makefile("rb"), server.makefile("rb")
            try:
                while self.one(client, come, server, go):
                    pass
            except (OSError, ValueError):
                pass

    def one(self, client, come, server, go):
        head, body = read_message(come)
        if head is None:
            return False
        with self.lock:
            request = Request(len(self.requests) + 1, head, body)
            self.requests.append(request)
            action = self.act(request)
        if action in REFUSALS:
            code, word = REFUSALS[action]
            text = b"" if request.method == "HEAD" else b"<Error><Code>" + word + b"</Code></Error>"
            client.sendall(b"HTTP/1.1 " + code + b"\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
            return True
        if action == DROP_BEFORE:
            return False
        if action == STALE and request.target in self.pages:
            client.sendall(self.pages[request.target])
            return True
        server.sendall(request.head + request.body)
        answer, content = read_message(go, request.method == "HEAD")
        if answer is None or action == DROP_AFTER:
            return False
        if "list-type=2" in request.target:
            self.pages[request.target] = answer + content
        if action == TRUNCATE:
            client.sendall(answer + content[:len(content) // 2] if content else answer[:len(answer) // 2])
            return False
        if action == SLOW:
            for at in range(0, len(answer + content), 997):
                client.sendall((answer + content)[at:at + 997])
                time.sleep(0.01)
            return True
        if callable(action):
            answer, content = action(answer, content)
        client.sendall(answer + content)
        return True
