"""A local server in place of the network: every https address is redirected to it."""

import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOCAL = "127.0.0.1"


class Responses:
    """`files` maps "host/path" to bytes, to a status code, or to a list of those, one for each request in turn."""

    def __init__(self, files):
        self.files = dict(files)
        self.requested = []

    def answer(self, address):
        self.requested.append(address)
        found = self.files.get(address, 404)
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        return (200, found) if isinstance(found, bytes) else (found, b"")


def _handler(responses):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = responses.answer(self.path[1:])
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def _to(port):
    class Redirect(urllib.request.HTTPSHandler):
        def https_open(self, request):
            # The host becomes the first part of the path.
            local = urllib.request.Request(f"http://{LOCAL}:{port}/{request.host}{request.selector}")
            return self.parent.open(local, timeout=request.timeout)

    return Redirect


@contextmanager
def network(files):
    """Serve `files` in place of the network; yields its Responses, which record the requests."""
    responses = Responses(files)
    server = ThreadingHTTPServer((LOCAL, 0), _handler(responses))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    no_proxy = urllib.request.ProxyHandler({})
    urllib.request.install_opener(urllib.request.build_opener(no_proxy, _to(server.server_address[1])))
    try:
        yield responses
    finally:
        urllib.request.install_opener(None)
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def no_network():
    """Every https request fails, as without a network."""

    class Refuse(urllib.request.HTTPSHandler):
        def https_open(self, request):
            raise urllib.error.URLError("Name or service not known")

    urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({}), Refuse))
    try:
        yield
    finally:
        urllib.request.install_opener(None)
