"""Reads requests as a Python server does, and writes its reading of each as a line of JSON.

Input: a length in four bytes, big-endian, then the bytes of a connection up to the end of one request.
"""

import io
import json
import struct
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler


class Reader(BaseHTTPRequestHandler):
    def __init__(self, stream):
        self.rfile = stream
        self.wfile = io.BytesIO()
        self.client_address = ("127.0.0.1", 0)
        self.server = None
        self.error = None

    def send_error(self, code, message=None, explain=None):
        self.error = f"{code} {message}"

    def log_message(self, *args):
        pass


def chunks(stream):
    """Reads a chunked body strictly by RFC 9112 section 7.1. None if the end is missing."""
    body = b""
    while True:
        line = stream.readline(65537)
        if not line.endswith(b"\r\n"):
            return None
        size = int(line.split(b";")[0].strip(), 16)
        if size == 0:
            break
        body += stream.read(size)
        if stream.read(2) != b"\r\n":
            return None
    while True:
        line = stream.readline(65537)
        if line == b"\r\n":
            return body
        if not line:
            return None


def message(body):
    """The JSON-RPC message as Python's json reads it, and the parts that other parsers may read differently."""
    odd = []

    def members(pairs):
        folded = [key.casefold() for key, _ in pairs]
        if len(set(folded)) != len(folded):
            odd.append("keys that look alike")
        return dict(pairs)

    def constant(name):
        odd.append(name)

    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=members, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        return {"error": str(error)[:80]}
    if not isinstance(value, dict):
        return {"error": "not an object"}
    params = value.get("params")
    params = params if isinstance(params, dict) else {}
    odd += [key for key in value if key not in ENVELOPE and key.casefold() in ENVELOPE]
    method = value.get("method")
    wanted = NAMED.get(method, set()) if isinstance(method, str) else set()
    odd += [key for key in params if key not in wanted and key.casefold() in wanted]
    arguments = params.get("arguments")
    amount = arguments.get("amount") if isinstance(arguments, dict) else None
    return {
        "method": method,
        "name": params.get("name"),
        "uri": params.get("uri"),
        "amount": amount if isinstance(amount, (int, float)) and not isinstance(amount, bool) else None,
        "odd": odd,
    }


# Go's decoder ignores the case of these.
ENVELOPE = {"jsonrpc", "id", "method", "params", "result", "error"}
NAMED = {
    "tools/call": {"name", "arguments"},
    "prompts/get": {"name", "arguments"},
    "resources/read": {"uri"},
    "resources/subscribe": {"uri"},
}


def understood(data):
    stream = io.BytesIO(data)
    reader = Reader(stream)
    reader.raw_requestline = stream.readline(65537)
    if not reader.parse_request():
        return {"error": reader.error or "no request"}
    headers = [[name.lower(), value.strip(" \t")] for name, value in reader.headers.items()]
    coding = reader.headers.get_all("transfer-encoding") or []
    lengths = reader.headers.get_all("content-length") or []
    if coding:
        body = chunks(stream)
    elif lengths:
        body = stream.read(int(lengths[0]))
        body = body if len(body) == int(lengths[0]) else None
    else:
        body = b""
    answer = {
        "method": reader.command,
        "target": reader.path,
        "path": urllib.parse.unquote(urllib.parse.urlsplit(reader.path).path, "latin1"),
        "headers": headers,
        "framings": len(coding) + len(lengths),
        "complete": body is not None,
        "length": len(body or b""),
        "rest": len(stream.read()),
    }
    if body is not None and body.lstrip()[:1] in (b"{", b"["):
        answer["message"] = message(body)
    return answer


source, sink = sys.stdin.buffer, sys.stdout
while size := source.read(4):
    data = source.read(struct.unpack(">I", size)[0])
    try:
        line = understood(data)
    except Exception as error:
        line = {"error": f"{type(error).__name__}: {error}"}
    # JSON has no infinity: replaces Python's word for it with a number that JSON.parse reads as infinity.
    sink.write(json.dumps(line, allow_nan=True).replace("Infinity", "1e999") + "\n")
    sink.flush()
