"""Cost of hostile request bodies: `python -m bench.bodies` reads 10 MiB of each kind in its own process.

Compared with as many bytes of an ordinary form: one field of Cyrillic text, all of it percent-encoded.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from contextlib import suppress
from io import BytesIO

from flask import Flask

from app.core.errors import WaypostError
from app.web.body import MAX_BYTES, read_sent

MAX_RATIO = 10.0  # of processor time
MAX_MIB = 64  # without the body itself
MIB = 1024 * 1024
ORDINARY = "an ordinary form"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MULTIPART = "multipart/form-data; boundary=X"
PART = b'--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'

# the beginning, the repeated part, and the content type
BODIES: dict[str, tuple[bytes, bytes, str]] = {
    ORDINARY: (b"notes=", b"%D0%B4", FORM),
    "fields without a value": (b"", b"a&", FORM),
    "nothing between the signs": (b"", b"&", FORM),
    "percent signs": (b"a=", b"%", FORM),
    "a long name": (b"", b"a", FORM),
    "parts": (b"", PART, MULTIPART),
    "boundaries that are none": (PART, b"\r\n--Xa", MULTIPART),
    "lines of a head": (b"--X\r\n", b"X: y\r\n", MULTIPART),
    "parameters of a head": (b"--X\r\nContent-Disposition: form-data", b"; x=y", MULTIPART),
    "members": (b"{", b'"a":0,', JSON),
    "numbers": (b'{"a":[', b"0,", JSON),
    "empty lists": (b'{"a":[', b"[],", JSON),
    "depth": (b'{"a":', b"[", JSON),
    "texts that never end": (b'{"', b'\\"', JSON),
    "line ends for destinations": (b"is_bulk=1&location_urls=", b"\n", FORM),
}


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(cost(sys.argv[1])))
        return
    costs = {name: measured(name) for name in BODIES}
    ordinary = costs[ORDINARY][0]
    is_good = True
    for name, (seconds, mib) in costs.items():
        ratio = seconds / ordinary
        is_good &= ratio <= MAX_RATIO and mib <= MAX_MIB
        print(f"{name:<28} {seconds:6.2f} s  {ratio:5.1f} x  {mib:5.0f} MiB")
    print(f"at most {MAX_RATIO:.0f} x and {MAX_MIB} MiB")
    if not is_good:
        sys.exit("ABOVE TARGET")


def measured(name: str) -> tuple[float, float]:
    command = [sys.executable, "-m", "bench.bodies", name]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found[0], found[1]


def cost(name: str) -> tuple[float, float]:
    """Processor seconds, and peak MiB without the body."""
    start, piece, content_type = BODIES[name]
    body = start + piece * ((MAX_BYTES - len(start)) // len(piece))
    app = Flask(__name__)
    read(app, b"{}", JSON)  # loads what is loaded only once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    read(app, body, content_type)
    seconds = time.process_time() - began
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def read(app: Flask, body: bytes, content_type: str) -> None:
    sized = {"input_stream": BytesIO(body), "content_length": len(body)}
    with app.test_request_context(method="POST", content_type=content_type, **sized), suppress(WaypostError):
        read_sent()


if __name__ == "__main__":
    main()
