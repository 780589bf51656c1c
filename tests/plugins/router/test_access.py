"""Callers may use only models allowed to them or their teams."""

from __future__ import annotations

from a2a_adapters_router import Router, RouterConfig

from a2a_adapters import (
    BearerAuth,
    BearerTokens,
    RemoteAgent,
    RemoteAgentError,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.router.providers import deployed

SETTINGS = {
    "prices": {"quick": {"input": 0}, "smart": {"input": 0}},
    "aliases": {"best": "smart"},
    "combos": {"sure": ["smart", "quick"]},
    "teams": {"research": ["ann"]},
    "access": [{"team": "research", "models": ["best"]}, {"owner": "bob", "models": ["quick"]}],
}
USES = [
    ("ann", {}, "smart"),
    ("bob", {}, "quick"),
    ("bob", {"combo": "sure"}, "quick"),
    ("bob", {"model": "best"}, "may not use the model 'best'"),
    ("ann", {"model": "quick"}, "may not use the model 'quick'"),
    ("cid", {"combo": "sure"}, "may not use any model of the route"),
    ("cid", {"skill": "quota-management"}, []),
    ("bob", {"skill": "quota-management"}, ["quick"]),
]


async def test_callers_use_only_allowed_models():
    def quick(text):
        return "quick"

    def smart(text):
        return "smart"

    options = ServerOptions(authentication=BearerTokens({n: n for n in ("ann", "bob", "cid")}))
    async with deployed(quick=quick, smart=smart) as deployments:
        config = RouterConfig.model_validate({"deployments": deployments, **SETTINGS})
        async with running(build_app(Router(config), options=options)) as url:
            for owner, metadata, expected in USES:
                async with RemoteAgent(url, auth=BearerAuth(owner)) as agent:
                    assert await said(agent, metadata) == expected, owner


async def said(agent, metadata):
    """Return the answer's text, the names of the quota report, or the reason of a refusal."""
    try:
        reply = await agent.send("which?", metadata=metadata)
    except RemoteAgentError as error:
        return str(error).rpartition("this caller ")[2]
    return [each["deployment"] for each in reply.data[0]] if reply.data else reply.text


def test_without_rules_all_models_are_allowed():
    one = {"model_name": "one", "agent": "https://agent.example"}
    router = Router(RouterConfig(deployments=[one], prices={"one": {"input": 0}}))
    assert [each.id for each in router.routes.open_to("")] == ["one"]
