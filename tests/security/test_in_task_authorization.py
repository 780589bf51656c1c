"""A task that asks for authorisation has none yet (A2A after 1.0.1, section 7.6.4)."""

from __future__ import annotations

import pytest

from a2a_adapters import (
    AuthRequired,
    BearerAuth,
    BearerTokens,
    InputRequired,
    Rejected,
    RemoteAgent,
    RemoteOptions,
    RemoteRefusedError,
    RemoteTaskError,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running

GRANT = {"X-Grant": "yes"}
BINDINGS = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


class Keeper:
    """Deletes if the message that answers its request has a grant."""

    def __init__(self):
        self.grants = []
        self.deletions = 0

    async def answer(self, request):
        self.grants.append(request.caller.headers)
        answer = yield AuthRequired("May I delete it?")
        self.grants.append(answer.caller.headers)
        if "x-grant" not in answer.caller.headers:
            yield Rejected("That is no authorisation.")
            return
        self.deletions += 1
        more = yield InputRequired("Deleted. What else?")
        self.grants.append(more.caller.headers)
        yield "Done."


@pytest.fixture
async def kept():
    keeper = Keeper()
    options = ServerOptions(
        authentication=BearerTokens({"a": "anna", "b": "bob"}), caller_headers=["X-Grant"]
    )
    async with running(build_app(keeper.answer, options=options)) as url:
        yield keeper, url


def agent_of(url, token, binding="JSONRPC"):
    return RemoteAgent(url, auth=BearerAuth(token), options=RemoteOptions(bindings=[binding]))


@BINDINGS
async def test_reaching_the_state_authorises_nothing(kept, binding):
    keeper, url = kept
    async with agent_of(url, "a", binding) as agent:
        asked = await agent.send("delete", headers=GRANT)
        assert asked.state == "auth-required"
        await agent.get_task(asked.task_id)
        task = agent.task(asked.task_id)
        assert (await task.result()).state == "auth-required"  # subscribes
        other = await agent.send("delete", context_id=asked.context_id, headers=GRANT)
        assert (other.state, other.task_id != asked.task_id) == ("auth-required", True)
        assert (await task.status()).state == "auth-required"
    assert keeper.deletions == 0


@BINDINGS
@pytest.mark.parametrize("said", ["yes", "I have logged in.", "approved"])
async def test_an_answer_is_a_message_and_no_authorisation(kept, binding, said):
    keeper, url = kept
    async with agent_of(url, "a", binding) as agent:
        asked = await agent.send("delete", headers=GRANT)
        with pytest.raises(RemoteTaskError, match="no authorisation"):
            await agent.send(said, task_id=asked.task_id)
    assert keeper.deletions == 0


@BINDINGS
async def test_a_credential_is_that_of_one_message(kept, binding):
    keeper, url = kept
    async with agent_of(url, "a", binding) as agent:
        asked = await agent.send("delete")
        more = await agent.send("here", task_id=asked.task_id, headers=GRANT)
        assert more.state == "input-required"
        assert (await agent.send("nothing", task_id=asked.task_id)).text.endswith("Done.")
    assert keeper.grants == [{}, {"x-grant": "yes"}, {}]
    assert keeper.deletions == 1


@BINDINGS
async def test_another_user_cannot_authorise(kept, binding):
    keeper, url = kept
    async with agent_of(url, "a", binding) as anna, agent_of(url, "b", binding) as bob:
        asked = await anna.send("delete")
        with pytest.raises(RemoteRefusedError):
            await bob.send("yes", task_id=asked.task_id, headers=GRANT)
        assert (await anna.get_task(asked.task_id)).state == "auth-required"
    assert keeper.deletions == 0
