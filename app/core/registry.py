"""Which types of a kind are there? One file a type: its name is the public type."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules(package: ModuleType) -> dict[str, ModuleType]:
    """Every module of `package` by its name; one more file is one more type."""
    return {m.name: import_module(f"{package.__name__}.{m.name}") for m in iter_modules(package.__path__)}
