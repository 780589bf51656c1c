"""Runs the official A2A test kit against agents of this project: `make kit`.

    TCK_SRC=CLONE python -m tests.kit.run [tck] [plain] [bare]

CLONE is a git clone of the kit (a2aproject/a2a-tck on GitHub) that has the two commits below. The
kit is not part of this repository and never downloaded. It follows A2A 1.0.0 and 0.3, and has
defects: expected failures are listed in `expected.py`, with reasons.
`TCK_PATCHES` may name a folder with corrections of the kit, `tck10-*.patch` and `tck03-*.patch`;
then no failure is expected. `TCK_WORK` is the folder for the unpacked kit and its logs.
"""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.request
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from tests.kit.expected import DESELECTED, EXPECTED, NOT_FOR_PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REVISIONS = {
    "1.0": "357c4a87afa2818731590647cccbea31c31733a2",
    "0.3": "eb1f804c27ea25db8805264d9ed2d7ca077a7776",
}
MINIMUM = {"tck": 517, "plain": 431, "bare": 220}
"""Minimum number of passed tests, including expected failures."""

_TRANSPORTS = {"jsonrpc": "jsonrpc", "http_json": "rest", "grpc": "grpc"}
_SECTION_SECONDS = 1200


class Section(NamedTuple):
    """One run of pytest."""

    name: str
    version: str
    arguments: Sequence[str]


class Kit:
    """The kit at both revisions, unpacked and with its dependencies."""

    def __init__(self, source: Path, patches: Path | None, work: Path) -> None:
        self.work = work
        self._python: dict[str, Path] = {}
        for version, revision in REVISIONS.items():
            self._unpack(source, revision, self.folder(version))
            for patch in (
                sorted(patches.glob(f"tck{version.replace('.', '')}-*")) if patches else ()
            ):
                _run("git", "apply", str(patch.resolve()), cwd=self.folder(version))
            self._python[version] = self._install(version)

    def folder(self, version: str) -> Path:
        """Return the folder of the kit for a version."""
        return self.work / f"kit-{version}"

    def _unpack(self, source: Path, revision: str, folder: Path) -> None:
        archive = _run("git", "-C", str(source), "archive", revision)
        shutil.rmtree(folder, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(folder, filter="data")
        _run("git", "init", "--quiet", str(folder))  # limits `git apply` to this folder
        # Otherwise it listens on all interfaces.
        for path in folder.glob("tck/webhook/server.py"):
            path.write_text(path.read_text().replace('"0.0.0.0"', '"127.0.0.1"'))

    def _install(self, version: str) -> Path:
        place = self.work / f"venv-{version}"
        python = place / "bin" / "python"
        if not (place / "installed").exists():
            project = tomllib.loads((self.folder(version) / "pyproject.toml").read_text())
            uv = str(Path(sys.executable).with_name("uv"))
            _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(place))
            wanted = project["project"]["dependencies"]
            _run(uv, "pip", "install", "--quiet", "--python", str(python), *wanted)
            (place / "installed").touch()
        return python

    def run(self, section: Section) -> ET.Element:
        """Return the result of a section as JUnit XML."""
        logs = self.work / "logs"
        logs.mkdir(exist_ok=True)
        report, said = logs / f"{section.name}.xml", logs / f"{section.name}.txt"
        report.unlink(missing_ok=True)
        command = [str(self._python[section.version]), "-m", "pytest", "-q", "--tb=short"]
        command += ["-p", "no:cacheprovider", f"--junitxml={report}", *section.arguments]
        with said.open("w") as log:
            subprocess.run(
                command,
                cwd=self.folder(section.version),
                stdout=log,
                stderr=log,
                timeout=_SECTION_SECONDS,
                check=False,
            )
        if not report.exists():
            sys.exit(f"kit: {section.name} has no result, see {said}")
        return ET.parse(report).getroot()


def sections(kind: str, version: str, port: int) -> Iterator[Section]:
    """Yield the sections to run against an agent."""
    url = f"http://127.0.0.1:{port}"
    skipped = [f"--deselect={test}" for test in DESELECTED]
    if kind == "plain":
        skipped += [f"--deselect={test}" for test in NOT_FOR_PLAIN]
    if version == "1.0":
        transports = f"--transport={','.join(_TRANSPORTS)}"
        host = (f"--sut-host={url}", "--webhook-host=127.0.0.1")
        yield Section(f"{kind}-1.0", "1.0", ["tests/compatibility", *host, transports, *skipped])
        return
    common = (f"--sut-url={url}/", "--test-scope=all", *skipped)
    for transport in _TRANSPORTS.values():
        name, only = f"{kind}-0.3-{transport}", f"--transports={transport}"
        is_rpc = transport == "jsonrpc"
        where = "tests/mandatory" if is_rpc else "tests/mandatory/protocol"
        which = "mandatory_jsonrpc or mandatory_protocol" if is_rpc else "mandatory_protocol"
        yield Section(f"{name}-mandatory", "0.3", [where, "-m", which, only, *common])
        for part in ("capabilities", "quality", "features"):
            yield Section(f"{name}-{part}", "0.3", [f"tests/optional/{part}", only, *common])
    every = f"--transports={','.join(_TRANSPORTS.values())}"
    where = "tests/optional/multi_transport"
    yield Section(
        f"{kind}-0.3-equivalence", "0.3", [where, "-m", "transport_equivalence", every, *common]
    )


@contextmanager
def serving(kind: str, version: str, log: Path) -> Iterator[int]:
    """Serve an agent in a separate process; yield its port."""
    port = _free_ports()
    command = [sys.executable, "-m", "tests.kit.agent", kind, str(port)]
    if version == "0.3":  # its kit requires URLs with a scheme
        command += ["--grpc-url", f"http://127.0.0.1:{port + 1}"]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            _wait_for(f"http://127.0.0.1:{port}/.well-known/agent-card.json", process)
            yield port
        finally:
            process.terminate()
            process.wait()


def _free_ports() -> int:
    """Return a free port whose successor is free as well."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            time.sleep(0.1)
    sys.exit("kit: the agent did not start")


def _run(*command: str, cwd: Path | None = None) -> bytes:
    done = subprocess.run(command, cwd=cwd, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"kit: {' '.join(command[:4])} ... failed: {done.stderr.decode()}")
    return done.stdout


def verdict(kind: str, kit: Kit, *, is_patched: bool) -> bool:
    """Run all sections for an agent and print the result; return whether it is as expected."""
    counts: Counter[str] = Counter()
    for version in REVISIONS if kind != "bare" else ("1.0",):
        with serving(kind, version, kit.work / f"agent-{kind}-{version}.log") as port:
            for section in sections(kind, version, port):
                counts += _counted(section, kit.run(section), is_patched=is_patched)
    totals = ", ".join(f"{counts[name]} {name}" for name in ("passed", "failed", "skipped"))
    beside = f", {counts['expected']} failed as expected" if not is_patched else ""
    is_right = not counts["failed"] and counts["passed"] + counts["expected"] >= MINIMUM[kind]
    print(
        f"{kind}: {totals}{beside}; {'OK' if is_right else f'NOT OK, {MINIMUM[kind]} have to pass'}"
    )
    return is_right


def _counted(section: Section, report: ET.Element, *, is_patched: bool) -> Counter[str]:
    counts: Counter[str] = Counter()
    expected = {} if is_patched else EXPECTED[section.version]
    for case in report.iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        skipped = case.find("skipped")
        is_xfail = skipped is not None and skipped.get("type") == "pytest.xfail"
        has_failed = case.find("failure") is not None or case.find("error") is not None
        if not has_failed and not (is_xfail and name in expected):
            counts["passed" if skipped is None else "skipped"] += 1
        elif (reason := expected.get(name)) is not None:
            counts["expected"] += 1
            print(f"  {name} failed as expected: {reason}")
        else:
            counts["failed"] += 1
            print(f"  {name} FAILED")
    print(f"{section.name}: {dict(counts)}", flush=True)
    return counts


def main() -> int:
    """Run the kit against the named agents, or all."""
    source, patches = os.environ.get("TCK_SRC"), os.environ.get("TCK_PATCHES")
    if not source:
        print(
            "kit: NOT RUN. The official test kit is not part of this repository: clone "
            "a2aproject/a2a-tck from GitHub and name the clone, as in "
            "`make kit TCK_SRC=../a2a-tck`."
        )
        return 2
    work = Path(os.environ.get("TCK_WORK", ".demo/kit")).resolve()
    work.mkdir(parents=True, exist_ok=True)
    kit = Kit(Path(source), Path(patches) if patches else None, work)
    kinds = sys.argv[1:] or list(MINIMUM)
    right = [verdict(kind, kit, is_patched=bool(patches)) for kind in kinds]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
