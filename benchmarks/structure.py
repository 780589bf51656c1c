"""Shows how the core is built: packages, layers, dependencies, cycles, sizes and returns.

`make structure` prints tables for docs and reviews. The order and the dependencies of the
packages are those of `tests/test_imports.py`, which checks them; `way.py` counts the returns.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from way import main as print_ways

from tests.test_imports import CORE, LAYERS, circles, core_edges, layer

SMALL = 50
"""Files below this number of lines should be merged with their user, except `__init__`."""


def lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_text().splitlines())


def dependencies() -> Mapping[str, set[str]]:
    """Return the packages that each package of the core imports."""
    found: dict[str, set[str]] = {name: set() for name in LAYERS}
    for name, targets in core_edges().items():
        found[layer(name)] |= {layer(target) for target in targets} - {layer(name)}
    return found


def depths(imported: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the layer of each package: one above the highest that it imports, 1 at the bottom.

    A dependency upwards does not count.
    """
    found: dict[str, int] = {}
    for name in LAYERS:
        found[name] = 1 + max((found.get(target, 0) for target in imported[name]), default=0)
    return found


def upward() -> list[str]:
    """Return the modules that import a higher package."""
    order = list(LAYERS)
    return [
        f"{name} -> {target}"
        for name, targets in sorted(core_edges().items())
        for target in sorted(targets)
        if order.index(layer(target)) > order.index(layer(name))
    ]


def shown(name: str) -> str:
    """Return the name of a package in the tables."""
    return f"`{name or '__init__'}`"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    print()


def main() -> None:
    """Print all tables."""
    imported = dependencies()
    found = depths(imported)
    sizes = {name: lines(path) for name, path in CORE.items()}
    rows = []
    for package in reversed(LAYERS):
        own = [size for name, size in sizes.items() if layer(name) == package]
        below = ", ".join(name or "__init__" for name in LAYERS if name in imported[package])
        rows.append((shown(package), found[package], len(own), sum(own), max(own), below))
    table(("package", "layer", "modules", "lines", "largest", "imports"), rows)
    edges = sum(map(len, imported.values()))
    print(f"{len(LAYERS)} packages on {max(found.values())} layers, {edges} dependencies,")
    print(f"{len(sizes)} modules, {sum(sizes.values()):,} lines.\n")
    print(f"Upward dependencies: {', '.join(upward()) or 'none'}.")
    cycle = circles({name: targets - {name} for name, targets in core_edges().items()})
    print(f"Cycles: {' -> '.join(cycle) or 'none'}.")
    small = {
        str(CORE[name].relative_to(ROOT)): size
        for name, size in sorted(sizes.items())
        if size < SMALL and CORE[name].name not in ("__init__.py", "__main__.py")
    }
    listed = ", ".join(f"{name} ({size})" for name, size in small.items())
    print(f"Files below {SMALL} lines: {listed or 'none'}.\n")
    asyncio.run(print_ways())


if __name__ == "__main__":
    main()
