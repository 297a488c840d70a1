"""Memory that was freed goes back to the system, where the C library keeps it for the thread that had it."""

from __future__ import annotations

import ctypes

LIBRARY = ctypes.CDLL(None)


def return_freed_memory() -> None:
    """Has glibc return what is free; another C library is left as it is.

    It keeps up to some 100 MB for each thread that has used as much once. Takes some milliseconds where there
    is much to return, so it is for work that has just freed much.
    """
    trim = getattr(LIBRARY, "malloc_trim", None)
    if trim is not None:
        trim(0)
