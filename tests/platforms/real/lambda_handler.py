"""`mangum`: an app of `build_app` in AWS Lambda, started for each event, on SQLite."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from mangum import Mangum

from a2a_adapters import ServerOptions, build_app
from tests.platforms.agent import answer
from tests.platforms.contract import V1, call, message, text_of


def main() -> None:
    """Send messages in several events, and answer a question in another one."""
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'tasks.db'}"
        options = ServerOptions(storage=storage, allowed_hosts=["*"], trust_forwarded=True)
        handler = Mangum(build_app(answer, options=options))

        def rpc(params: dict[str, Any], method: str = "SendMessage") -> Any:
            answered = handler(event(call(method, params)), None)
            assert answered["statusCode"] == 200, answered
            return json.loads(answered["body"])["result"]

        assert text_of(rpc(message("hello"))["task"]) == "hello"
        asked = rpc(message("ask"))["task"]
        assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        assert rpc({"id": asked["id"]}, "GetTask")["id"] == asked["id"]
    print("ran: started for each of three events, on SQLite; streams arrive in one piece")


def event(body: object) -> dict[str, Any]:
    """Return a request of a function URL."""
    host = "abc.lambda-url.eu-west-1.on.aws"
    http = {"method": "POST", "path": "/", "sourceIp": "192.0.2.1", "protocol": "HTTP/1.1"}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/",
        "rawQueryString": "",
        "headers": {**V1, "content-type": "application/json", "host": host},
        "requestContext": {"http": http},
        "body": json.dumps(body),
        "isBase64Encoded": False,
    }


if __name__ == "__main__":
    main()
