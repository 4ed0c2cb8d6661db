#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What pages of other sites and clients that drip do to a server of ntprof: attack_server.py PORT. Fails if one of them
gets what it should not, or keeps the server."""
import http.client
import socket
import sys
import time


class Dripping:
    """Connections that send a head without an end, a byte now and then: less than the limit of a silent one."""

    def __init__(self, port, path="/", count=16):
        self.open = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        for connection in self.open:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Drip: ".encode())
            connection.setblocking(False)

    def send(self):
        """A byte each. Returns whether the server has closed all."""
        for connection in list(self.open):
            try:
                connection.send(b"x")
                ended = connection.recv(1000) == b""
            except BlockingIOError:
                ended = False
            except OSError:
                ended = True
            if ended:
                connection.close()
                self.open.remove(connection)
        time.sleep(0.5)
        return not self.open


class Asking:
    """Connections with one whole request after the other, each long before the limit of a silent one."""

    def __init__(self, port, path="/", count=16):
        self.request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        self.open = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(count)]

    def ask(self):
        """A request each. Returns how many connections are still open."""
        for connection in list(self.open):
            try:
                connection.sendall(self.request)
                ended = connection.recv(1 << 20) == b""
            except OSError:
                ended = True
            if ended:
                connection.close()
                self.open.remove(connection)
        return len(self.open)


def get_status(port, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def wait_until_it_answers(port):
    for _ in range(600):
        try:
            return get_status(port)
        except ConnectionError:
            time.sleep(0.1)
    return None


def main():
    port = int(sys.argv[1])
    assert wait_until_it_answers(port) == 200
    for host in ("evil.example", "localhost:x@evil.example", "[::1]evil.example", "127.0.0.1.evil.example"):
        assert get_status(port, Host=host) == 403, host
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        assert get_status(port, **headers) == 403, headers
    asking = Asking(port, "/none")
    assert asking.ask() == 16
    time.sleep(0.5)
    assert asking.ask() == 0
    dripping = Dripping(port)
    while not dripping.send():
        pass
    assert get_status(port) == 200


if __name__ == "__main__":
    main()
