"""`ray[serve]`: an app of `build_app` in a replica."""

from __future__ import annotations

import os

from tests.platforms.agent import answer
from tests.platforms.contract import Place
from tests.platforms.real.processes import free_port

os.environ.setdefault("RAY_AUTH_MODE", "disabled")

import ray
from ray import serve


def make() -> object:
    """Return the app, in the replica, because an app cannot be sent to it."""
    from a2a_adapters import build_app

    return build_app(answer)


@serve.deployment
@serve.ingress(make)
class Agent:
    """The agent of the tests."""


def main() -> None:
    """Check the contract below a route prefix."""
    port = free_port()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        serve.run(Agent.bind(), route_prefix="/team")
        with Place(f"http://127.0.0.1:{port}/team") as place:
            assert place.card()["url"] == f"{place.url}/"
            place.check_calls()
        print("ran: calls, a question and streams below a route prefix")
    finally:
        serve.shutdown()
        ray.shutdown()


if __name__ == "__main__":
    main()
