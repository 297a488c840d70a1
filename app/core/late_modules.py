"""Libraries that are imported at their first use.

Each takes several MB, which web processes and worker share only until they write to it, and most instances
need none of them: Redis without `REDIS_URL`, WebAuthn until somebody has a passkey.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LateModule:
    """A stand-in for the module of that name, where type checkers see the import itself.

    Only what functions use may be taken from it, no base class and no constant of a module. An `except`
    clause looks at it after an error alone. (`importlib.util.LazyLoader` of Python 3.11 is no choice: of two
    threads that use it first at the same time, one may find half a module.)
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
