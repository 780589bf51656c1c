"""Runs seeds on each engine, prints violations, and fails if there are any.

python -m tests.blackbox --seeds 10
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.blackbox.judge import KINDS
from tests.blackbox.run import Report, Run
from tests.plugins.sql.conftest import new_url

PROCESSES = {"sqlite": 1, "postgresql": 3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=900, help="time limit of a seed")
    parser.add_argument("--engines", nargs="+", default=list(PROCESSES))
    parser.add_argument("--keep", action="store_true", help="keep the folder of a seed that fails")
    arguments = parser.parse_args()
    is_wrong = False
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        for engine in arguments.engines:
            folder = Path(tempfile.mkdtemp(prefix=f"blackbox-{engine}-{seed}-"))
            run = Run(
                folder,
                new_url(engine, folder),
                seed,
                tasks=arguments.tasks,
                kills=arguments.kills,
                processes=PROCESSES[engine],
            )
            try:
                report = asyncio.run(asyncio.wait_for(run.play(), arguments.seconds))
            except TimeoutError:
                report = Report(wrong=[("stuck", "the run", f"longer than {arguments.seconds} s")])
            show(engine, seed, report)
            is_wrong = is_wrong or bool(report.wrong)
            if report.wrong and arguments.keep:
                print(f"  kept: {folder}")
            else:
                shutil.rmtree(folder)
    sys.exit(is_wrong)


def show(engine: str, seed: int, report: Report) -> None:
    """Print the report of a seed."""
    states = {name.removeprefix("TASK_STATE_").lower(): n for name, n in report.states.items()}
    kinds = Counter(kind for kind, _, _ in report.wrong)
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS)
    tried = f"{report.kills} kills, {report.trespasses} trespasses, {report.seconds:.0f} s"
    print(f"{engine} seed {seed}: {states}, {tried}: {counts}")
    for kind, task, detail in report.wrong:
        print(f"  {kind}: {task}: {detail}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
