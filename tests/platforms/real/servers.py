"""An app of `build_app` in gunicorn, hypercorn, granian and uvicorn: `servers.py NAME`."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

from a2a_adapters import Limits, ServerOptions, build_app
from tests.platforms.agent import answer
from tests.platforms.contract import Place
from tests.platforms.real.processes import free_port, running

app = build_app(answer, options=ServerOptions(limits=Limits(shutdown_seconds=5)))

_APP = "tests.platforms.real.servers:app"
COMMANDS = {
    "gunicorn": "gunicorn -k uvicorn_worker.UvicornWorker --graceful-timeout 10 -b 127.0.0.1:{}",
    "hypercorn": "hypercorn --graceful-timeout 5 -b 127.0.0.1:{}",
    "granian": "granian --interface asgi --host 127.0.0.1 --port {}",
    "uvicorn": "uvicorn --timeout-graceful-shutdown 5 --port {}",
}


def main(name: str) -> None:
    """Check the contract, and that a run in the middle of a stop is told to its reader."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [*COMMANDS[name].format(port).split(), _APP]
    with running(f"{url}/readyz", *command) as process, Place(url) as place:
        assert place.card()["url"] == f"{url}/"
        place.check_calls()
        with tempfile.TemporaryDirectory() as folder:
            pipe = Path(folder) / "go"
            os.mkfifo(pipe)
            with place.stream(f"wait {pipe}") as stream:
                stream.until("begun ")
                process.send_signal(signal.SIGTERM)
                pipe.write_text("")
                assert stream.rest() == "begun done"
        process.wait(30)
    print("ran: calls, a question, streams, and a run that ends after SIGTERM")


if __name__ == "__main__":
    main(sys.argv[1])
