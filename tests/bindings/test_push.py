"""The formats of push notification configs."""

from __future__ import annotations

import pytest
from a2a.types import AgentCard, ListTaskPushNotificationConfigsResponse
from a2a.utils.errors import TaskNotFoundError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from a2a_adapters import Limits, as_executor
from a2a_adapters.bindings.http import HttpAgent
from a2a_adapters.bindings.jsonrpc import JsonRpcEndpoint
from a2a_adapters.bindings.rest import rest_routes
from a2a_adapters.protocol.headers import VERSION_STATE
from a2a_adapters.runtime import Runtime
from a2a_adapters.security.body import Bodies, BodyLimit
from a2a_adapters.serving.entrance import Entrance
from tests.support.requests import V1, Agent, call, client_of, old_call, refused

URL = "https://example.org/hook"


class PushRuntime(Runtime):
    """Records configurations, and the protocol version of each call."""

    def __init__(self):
        super().__init__(as_executor(Agent()), AgentCard())
        self.configs = {}
        self.versions = []

    async def on_create_task_push_notification_config(self, params, context):
        self.versions.append(context.state[VERSION_STATE])
        params.id = params.id or f"config-{len(self.configs)}"
        self.configs[params.task_id, params.id] = params
        return params

    async def on_get_task_push_notification_config(self, params, context):
        if (params.task_id, params.id) not in self.configs:
            raise TaskNotFoundError
        return self.configs[params.task_id, params.id]

    async def on_list_task_push_notification_configs(self, params, context):
        found = [config for (task, _), config in self.configs.items() if task == params.task_id]
        return ListTaskPushNotificationConfigsResponse(configs=found)

    async def on_delete_task_push_notification_config(self, params, context):
        self.configs.pop((params.task_id, params.id), None)


@pytest.fixture
def runtime():
    return PushRuntime()


@pytest.fixture
async def http(runtime):
    agent = HttpAgent(runtime, 1 << 20)
    routes = [Route("/", JsonRpcEndpoint(agent)), *rest_routes(agent)]
    limits = Limits()
    middleware = [
        Middleware(Entrance, limits.header_bytes, None, {}, True),
        Middleware(BodyLimit, Bodies(limits)),
    ]
    async with client_of(Starlette(routes=routes, middleware=middleware)) as client:
        yield client


async def test_json_rpc_of_1_0(http, runtime):
    kept = {"taskId": "t", "id": "a", "url": URL, "token": "secret"}
    assert (await call(http, "CreateTaskPushNotificationConfig", kept))["result"] == kept
    one = {"taskId": "t", "id": "a"}
    assert (await call(http, "GetTaskPushNotificationConfig", one))["result"] == kept
    found = await call(http, "ListTaskPushNotificationConfigs", {"taskId": "t"})
    assert found["result"] == {"configs": [kept]}
    gone = await call(http, "DeleteTaskPushNotificationConfig", one)
    assert gone == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (await call(http, "GetTaskPushNotificationConfig", one))["error"]["code"] == -32001
    assert runtime.versions == ["1.0"]


async def test_rest_of_1_0(http):
    path = "/tasks/t/pushNotificationConfigs"
    body = {"id": "a/b", "url": URL, "taskId": "another"}
    kept = body | {"taskId": "t"}
    assert (await http.post(path, json=body, headers=V1)).json() == kept
    assert (await http.get(f"{path}/a/b", headers=V1)).json() == kept
    assert (await http.get(path, headers=V1)).json() == {"configs": [kept]}
    gone = await http.delete(f"{path}/a/b", headers=V1)
    assert (gone.status_code, gone.json()) == (200, {})
    refused(await http.get(f"{path}/a/b", headers=V1), 404, "NOT_FOUND", "TASK_NOT_FOUND")


async def test_json_rpc_of_0_3(http, runtime):
    params = {"taskId": "t", "pushNotificationConfig": {"url": URL, "token": "secret"}}
    kept = {
        "taskId": "t",
        "pushNotificationConfig": {"url": URL, "token": "secret", "id": "config-0"},
    }
    answer = await old_call(http, "tasks/pushNotificationConfig/set", params)
    assert answer["result"] == kept
    default = await old_call(http, "tasks/pushNotificationConfig/get", {"id": "t"})
    assert default["result"] == kept
    one = {"id": "t", "pushNotificationConfigId": "config-0"}
    assert (await old_call(http, "tasks/pushNotificationConfig/get", one))["result"] == kept
    found = await old_call(http, "tasks/pushNotificationConfig/list", {"id": "t"})
    assert found["result"] == [kept]
    gone = await old_call(http, "tasks/pushNotificationConfig/delete", one)
    assert gone == {"jsonrpc": "2.0", "id": 1, "result": None}
    missing = await old_call(http, "tasks/pushNotificationConfig/get", {"id": "t"})
    assert missing["error"]["code"] == -32001
    assert runtime.versions == ["0.3"]


async def test_rest_of_0_3(http):
    path = "/v1/tasks/t/pushNotificationConfigs"
    body = {"config": {"pushNotificationConfig": {"url": URL, "id": "a"}}}
    kept = {
        "name": "tasks/t/pushNotificationConfigs/a",
        "pushNotificationConfig": {"url": URL, "id": "a"},
    }
    assert (await http.post(path, json=body)).json() == kept
    assert (await http.get(f"{path}/a")).json() == kept
    assert (await http.get(path)).json() == {"configs": [kept]}
    gone = await http.delete(f"{path}/a")
    assert (gone.status_code, gone.json()) == (200, {})
    refused(await http.get(f"{path}/a"), 404, "NOT_FOUND", "TASK_NOT_FOUND")
