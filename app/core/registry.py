"""Registry of types: one module for each type. The name of the module is the public name of the type."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def modules(package: ModuleType) -> dict[str, ModuleType]:
    """Every module of `package` by its name. Adding a file adds a type."""
    return {m.name: import_module(f"{package.__name__}.{m.name}") for m in iter_modules(package.__path__)}
