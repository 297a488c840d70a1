"""Memory of a web process before and after large uploads. `python -m bench.pictures`

30 pictures of 4,400 × 4,400 pixels are uploaded one after the other, and as many eight at once. When the web
process decoded them itself it kept 2.9 GB. Also printed: what a helper process costs for a small picture,
beside decoding it in this process.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path

import requests
from PIL import Image

from app.links import picture_decoder, pictures
from bench.memory import size
from bench.redirects import running_server
from tests.crowds import Owner
from tests.server import Server

MAX_GROWTH = 1.2
SIDE, UPLOADS, AT_ONCE, SMALL_PICTURES = 4_400, 30, 8, 20


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--uploads", type=int, default=UPLOADS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measure_helper(Path(directory))
        with running_server(Path(directory)) as server:
            measure_memory(server, options.uploads)


def measure_helper(directory: Path) -> None:
    pictures.use_lock_directory(directory)
    small = make_picture(64, "PNG")
    here = time_each(lambda: picture_decoder.rewrite_picture(small))
    helped = time_each(lambda: pictures.read_picture(small))
    print(f"a picture of 64 × 64: {1000 * here:.1f} ms in this process, {1000 * helped:.1f} ms by a helper")


def time_each(work: Callable[[], object]) -> float:
    work()  # the first one fills caches
    begun = time.perf_counter()
    for _ in range(SMALL_PICTURES):
        work()
    return (time.perf_counter() - begun) / SMALL_PICTURES


def measure_memory(server: Server, uploads: int) -> None:
    owner = Owner(server)
    link = owner.make_link(location_url="https://example.com/")
    contents = [make_picture(SIDE, kind) for kind in ("PNG", "JPEG", "WEBP")]

    def upload(content: bytes) -> int:
        files = {"cloaking_opengraph": ("x", content)}
        headers = dict(owner.session.headers)
        answer = requests.post(f"{owner.site}/links/{link}", files=files, headers=headers, timeout=120)
        return answer.status_code

    with ThreadPoolExecutor(AT_ONCE) as pool:  # every thread has done its first request
        list(pool.map(upload, [make_picture(64, "PNG")] * uploads))
    before = size(server)
    print(f"{'before':<28}{before:>6.0f} MiB")
    for threads in (1, AT_ONCE):
        with ThreadPoolExecutor(threads) as pool:
            begun = time.perf_counter()
            statuses = Counter(pool.map(upload, islice(cycle(contents), uploads)))
        seconds, after = time.perf_counter() - begun, size(server)
        print(
            f"{uploads} uploads, {threads} at once{'':<8}{after:>6.0f} MiB  {seconds:.1f} s  {dict(statuses)}"
        )
        if set(statuses) - {200, 503}:
            sys.exit("WRONG: an upload failed")
        if after > before * MAX_GROWTH:
            sys.exit(f"ABOVE TARGET: at most {MAX_GROWTH} of what it was")


def make_picture(side: int, kind: str) -> bytes:
    """A picture of smooth colours, so that it has few bytes and many pixels."""
    gradient = Image.linear_gradient("L").resize((side, side))
    out = io.BytesIO()
    Image.merge("RGB", (gradient, gradient.rotate(90), gradient)).save(out, kind)
    return out.getvalue()


if __name__ == "__main__":
    main()
