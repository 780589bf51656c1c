"""Writes a package.json of the console's vendored scripts, for `npm audit` (see `make audit`)."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

LICENCES = Path("plugins/console/a2a_adapters_console/static/vendor/LICENSES.txt")
_NAMES = {"@highlightjs/cdn-assets": "highlight.js"}
"""Packages whose advisories name another one."""

_HEADING = re.compile(r"(?m)^(@?[a-z][\w./-]+) (\d+\.\d+\.\d+) \(.*\.js")


def vendored() -> dict[str, str]:
    """Return the version of each package, with those that are bundled."""
    text = (Path(__file__).parents[3] / LICENCES).read_text()
    return {_NAMES.get(name, name): version for name, version in _HEADING.findall(text)}


def write(folder: Path) -> None:
    """Write the package.json into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"name": "vendored", "private": True, "dependencies": vendored()}
    (folder / "package.json").write_text(json.dumps(about))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
