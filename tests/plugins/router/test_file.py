"""A router's file: errors are reported by line, and it can be served by name."""

from __future__ import annotations

import os

import pytest
from a2a_adapters_router import CacheConfig, Router

from a2a_adapters import ConfigurationError, RemoteAgent
from a2a_adapters.testing import running
from tests.plugins.router.providers import ANSWER, KEY, Provider
from tests.support.processes import PATIENCE, serving
from tests.support.warm import completed

FILE = """\
deployments:
  - model_name: fast
    litellm_params: {model: openai/gpt-4o-mini, api_key: os.environ/ROUTER_KEY}
  - model_name: fast
    litellm_params:
      model: openai/local
      api_base: URL/v1
      api_key: os.environ/ROUTER_KEY
  - model_name: helper
    agent: https://agent.example
combos:
  coding: [fast, helper]
active: coding
prices:
  fast-2: {input: 0.1, output: 0.2}
  helper: {request: 0.01}
quotas:
  - {provider: openai, per: day, usd: 5}
"""


def written(folder, text):
    file = folder / "router.yaml"
    file.write_text(text)
    return file


def test_a_file_describes_a_router(tmp_path):
    router = Router.from_file(written(tmp_path, FILE))
    assert [each.id for each in router.config.deployments] == ["fast", "fast-2", "helper"]
    assert router.tariffs["fast"].price.input == pytest.approx(0.15)
    assert router.tariffs["fast"].max_tokens == 16384
    assert router.tariffs["fast-2"].price.output == 0.2


WRONG = [
    ("active: coding", "active: cooking", r"router.yaml:13: active: .*unknown combo 'cooking'"),
    (
        "[fast, helper]",
        "[fast, other]",
        r"router.yaml:12: combos.coding.1: .*deployment 'other'",
    ),
    (
        "active: coding",
        "roles: {review: x}",
        r"router.yaml:13: roles.review: .*unknown combo 'x'",
    ),
    ("usd: 5", "usd: much", r"router.yaml:18: quotas.0.usd: Input should be a valid number"),
    ("provider: openai", "team: x", r"router.yaml:18: quotas.0.team: .*unknown team 'x'"),
    (
        "active: coding",
        "access: [{owner: ann, models: [fast, x]}]",
        r"router.yaml:13: access.0.models: access to the unknown deployment 'x'",
    ),
    (
        "active: coding",
        "access: [{team: x, models: [fast]}]",
        r"router.yaml:13: access.0.team: access of the unknown team 'x'",
    ),
    ("per: day", "per: week", r"router.yaml:18: quotas.0.per: .*'minute', 'day' or 'month'"),
    ("usd: 5", "eur: 5", r"router.yaml:18: quotas.0.eur: Extra inputs are not permitted"),
    ("agent: https://agent.example", "token: x", r"router.yaml:10: deployments.2.*os.environ/NAME"),
    ("api_key: os.environ/ROUTER_KEY}", "api_key: sk-1}", r"router.yaml:3: .*api_key is a secret"),
    (
        "api_key: os.environ/ROUTER_KEY}",
        "extra_headers: {Authorization: Bearer sk-1}}",
        r"router.yaml:3: .*Authorization is a secret",
    ),
    (
        "agent: https://agent.example",
        "agent: https://agent.example\n    token: sk-1",
        "is a secret",
    ),
    (
        "api_key: os.environ/ROUTER_KEY}\n",
        "api_key: os.environ/ROUTER_KEY}\n    metadata: {model: x}\n",
        r"router.yaml:2: .*metadata are only for agents",
    ),
    ("active: coding", "active: [", "router.yaml:15: invalid YAML: expected"),
    ("api_key: os.environ/ROUTER_KEY}", "api_key: sk-1: x}", "router.yaml:3: invalid YAML"),
    ("usd: 5", "usd: .inf", r"router.yaml:18: quotas.0.usd: Input should be a finite number"),
    ("input: 0.1", "input: .nan", r"router.yaml:15: prices.fast-2.input: Input should be"),
    ("request: 0.01", "request: -1", r"router.yaml:16: prices.helper.request: .*or equal to 0"),
    (FILE, "- a\n", "start with `deployments:`"),
    (FILE, "", "start with `deployments:`"),
    ("fast-2: {", "slow: {", "the price of 'fast-2' is unknown"),
    (
        "model: openai/local",
        "model: openai/local\n      max_parallel_requests: 5",
        "router.yaml:4: .*max_parallel_requests is not supported: use rpm",
    ),
    ("model: openai/local", "model: openai/*", r"router.yaml:4: .*list the models"),
    ("active: coding", "strategy: quality", "router.yaml:13: strategy: the strategy quality needs"),
    ("active: coding", "aliases: {gpt: gtp}", "router.yaml:13: aliases.gpt: .*deployment 'gtp'"),
    (
        "active: coding",
        "fallbacks: {fast: [x]}",
        "router.yaml:13: fallbacks.fast: .*deployment 'x'",
    ),
    (
        "active: coding",
        "litellm_settings:\n  drop_params: true",
        "router.yaml:14: litellm_settings.drop_params: .*never dropped",
    ),
    (
        "active: coding",
        "litellm_settings:\n  cache: true\n  cache_params: {type: redis}",
        "router.yaml:15: litellm_settings.cache_params.type: 'redis' is not .*in memory",
    ),
    ("active: coding", "cache: {seconds: 0}", "router.yaml:13: cache.seconds: Input should be"),
    (
        "active: coding",
        "router_settings:\n  redis_host: h",
        "router.yaml:14: router_settings.redis_host: .*--storage",
    ),
    (
        "active: coding",
        "general_settings:\n  master_key: os.environ/KEY",
        "router.yaml:13: general_settings: .*a2a-adapters serve",
    ),
    (
        "{provider: openai,",
        "{provider: opanai,",
        "18: quotas.0.provider: .*provider 'opanai'",
    ),
    (
        "{provider: openai,",
        "{deployment: fats,",
        "18: quotas.0.deployment: .*deployment 'fats'",
    ),
    ("os.environ/ROUTER_KEY\n", "os.environ/NOT_SET_HERE\n", "NOT_SET_HERE is not set"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_errors_name_the_line(tmp_path, old, new, message):
    assert old in FILE
    with pytest.raises(ConfigurationError, match=message) as caught:
        Router.from_file(written(tmp_path, FILE.replace(old, new, 1)))
    assert "sk-1" not in str(caught.value)


LITELLM = """\
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: azure/eu-gpt
      api_base: https://eu.example
      api_key: os.environ/ROUTER_KEY
      rpm: 6
      tpm: 1000
      weight: 3
      order: 1
      tags: [eu]
      max_tokens: 50
      num_retries: 2
      stream_timeout: 7
      cooldown_time: 5
    model_info: {id: eu, base_model: azure/gpt-4o, mode: chat, supports_vision: true}
  - model_name: gpt-4o
    litellm_params: {model: openai/gpt-4o, api_key: os.environ/ROUTER_KEY}
    model_info: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000002}
  - model_name: small
    litellm_params: {model: openai/gpt-4o-mini, api_key: os.environ/ROUTER_KEY}
router_settings:
  routing_strategy: latency-based-routing
  model_group_alias: {gpt-4: gpt-4o, secret: {model: small, hidden: true}}
  num_retries: 1
  fallbacks: [{gpt-4o: [small]}]
  enable_pre_call_checks: true
litellm_settings:
  request_timeout: 9
  allowed_fails: 2
  set_verbose: false
  cache: true
  cache_params: {type: local, ttl: 60, supported_call_types: [acompletion, embedding]}
"""


def test_a_file_of_litellm_is_read_as_it_is(tmp_path):
    router = Router.from_file(written(tmp_path, LITELLM))
    config, eu = router.config, router.config.deployments[0]
    assert [each.id for each in config.deployments] == ["eu", "gpt-4o", "small"]
    assert (eu.weight, eu.order, eu.tags, eu.retries) == (3, 1, ["eu"], 2)
    assert (eu.timeout_seconds, eu.cooldown_seconds, eu.supports) == (7, 5, {"vision": True})
    assert eu.litellm_params.keys() == {"model", "api_base", "api_key"}
    assert router.tariffs["eu"].max_tokens == 50
    assert router.tariffs["eu"].price.input > 0
    assert router.tariffs["gpt-4o"].price.output == pytest.approx(2)
    assert [(each.deployment, each.requests, each.tokens) for each in config.limits] == [
        ("eu", 6, 1000)
    ]
    assert config.aliases == {"gpt-4": "gpt-4o", "secret": "small"}
    assert (config.strategy, config.retries, config.timeout_seconds) == ("fastest", 1, 9)
    assert config.allowed_fails == 2
    assert config.fallbacks == {"gpt-4o": ["small"]}
    assert config.cache == CacheConfig(seconds=60)


def test_the_price_is_that_of_the_longest_prompts(tmp_path):
    text = FILE.replace("openai/gpt-4o-mini", "gemini/gemini-2.5-pro")
    price = Router.from_file(written(tmp_path, text)).tariffs["fast"].price
    assert (price.input, price.output) == (2.5, 15)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        Router.from_file(tmp_path / "none.yaml")


def environment():
    return {**os.environ, "ROUTER_KEY": KEY}


def run(*arguments):
    return completed(*arguments, env=environment())


@pytest.mark.timeout(3 * PATIENCE)
def test_the_command_prints_the_prices(tmp_path):
    done = run("router", "check", str(written(tmp_path, FILE)))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("fast: openai/gpt-4o-mini at openai, $0.15 in and $0.6 out")
    assert lines[2] == (
        "helper: https://agent.example at a2a, $0 in and $0 out per million tokens, "
        "$0.01 per request"
    )
    assert lines[3] == "combo coding (active): fast, then helper"
    wrong = run("router", "check", str(written(tmp_path, FILE.replace("usd: 5", "usd: 0"))))
    assert wrong.returncode == 2, wrong
    assert "router.yaml:18: quotas.0.usd" in wrong.stderr


@pytest.mark.timeout(3 * PATIENCE)
async def test_the_command_serves_it(tmp_path):
    async with running(Provider().app) as url:
        file = written(tmp_path, FILE.replace("URL", url))
        with serving(str(file), environment()) as address:
            async with RemoteAgent(address) as agent:
                reply = await agent.send("hello", metadata={"model": "fast-2"})
    assert reply.text == ANSWER
