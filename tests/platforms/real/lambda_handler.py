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
        texts = ["text/", "application/json", "application/a2a+json"]
        handler = Mangum(build_app(answer, options=options), text_mime_types=texts)

        def rpc(params: dict[str, Any], method: str = "SendMessage") -> Any:
            return answer_to(handler, of_url("/", call(method, params)))["result"]

        assert text_of(rpc(message("hello"))["task"]) == "hello"
        asked = rpc(message("ask"))["task"]
        assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        assert rpc({"id": asked["id"]}, "GetTask")["id"] == asked["id"]
        for event in (of_url, of_rest_api, of_load_balancer):
            answered = answer_to(handler, event("/message:send", message("hello")))
            assert text_of(answered["task"]) == "hello", event.__name__
    print(
        "ran: started for each event of a URL, a REST API and a load balancer, on SQLite; "
        "streams arrive in one piece"
    )


def answer_to(handler: Mangum, event: dict[str, Any]) -> Any:
    """Return the JSON with which the function answers an event."""
    answered = handler(event, None)
    assert answered["statusCode"] == 200, answered
    assert not answered["isBase64Encoded"], answered
    return json.loads(answered["body"])


HEADERS = {**V1, "content-type": "application/json", "host": "abc.lambda-url.eu-west-1.on.aws"}


def of_url(path: str, body: object) -> dict[str, Any]:
    """Return a request of a function URL, or of an HTTP API."""
    http = {"method": "POST", "path": path, "sourceIp": "192.0.2.1", "protocol": "HTTP/1.1"}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": HEADERS,
        "requestContext": {"http": http},
        **content(body),
    }


def of_rest_api(path: str, body: object) -> dict[str, Any]:
    """Return a request of a REST API."""
    return {
        "resource": "/{proxy+}",
        "requestContext": {"identity": {"sourceIp": "192.0.2.1"}, "stage": "prod"},
        "multiValueHeaders": {name: [value] for name, value in HEADERS.items()},
        **by_path(path),
        **content(body),
    }


def of_load_balancer(path: str, body: object) -> dict[str, Any]:
    """Return a request of an application load balancer."""
    group = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/agents/1"
    return {
        "requestContext": {"elb": {"targetGroupArn": group}},
        "headers": {**HEADERS, "x-forwarded-for": "192.0.2.1", "x-forwarded-port": "443"},
        **by_path(path),
        **content(body),
    }


def by_path(path: str) -> dict[str, Any]:
    """Return the fields that REST APIs and load balancers share."""
    return {"httpMethod": "POST", "path": path, "queryStringParameters": {}}


def content(body: object) -> dict[str, Any]:
    """Return the fields of a body."""
    return {"body": json.dumps(body), "isBase64Encoded": False}


if __name__ == "__main__":
    main()
