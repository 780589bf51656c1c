"""litellm's settings: translated if supported, refused by name otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MILLION = 1_000_000

_MOVED = {
    "cooldown_time": "cooldown_seconds",
    "max_retries": "retries",
    "max_tokens": "max_tokens",
    "num_retries": "retries",
    "order": "order",
    "rpm": "rpm",
    "stream_timeout": "timeout_seconds",
    "tags": "tags",
    "timeout": "timeout_seconds",
    "tpm": "tpm",
    "weight": "weight",
}
"""Router settings in litellm's parameters of a deployment, with their names here."""

_PRICES = {
    "input_cost_per_token": ("input", _MILLION),
    "cache_read_input_token_cost": ("cached", _MILLION),
    "output_cost_per_token": ("output", _MILLION),
    "input_cost_per_request": ("request", 1),
}

_ALIEN = {
    "budget_duration": "use a quota",
    "additional_drop_params": "unsupported parameters are never dropped",
    "drop_params": "unsupported parameters are never dropped",
    "default_api_key_rpm_limit": "use a quota of the owner '*'",
    "default_api_key_tpm_limit": "use a quota of the owner '*'",
    "fallbacks": "use a combo",
    "itpm": "use tpm",
    "litellm_credential_name": "use api_key: os.environ/NAME",
    "max_budget": "use a quota",
    "max_parallel_requests": "use rpm",
    "messages": "messages come from callers",
    "otpm": "use tpm",
    "stream": "answers are always streamed",
    "stream_options": "answers are always streamed",
    "tag_regex": "use tags",
}
"""Unsupported parameters of a deployment, with their alternatives."""

_ALIEN_PREFIXES = ("auto_router_", "complexity_router_", "adaptive_router_", "quality_router_")

_ABOUT = frozenset(
    {
        "created_at",
        "created_by",
        "db_model",
        "description",
        "key",
        "litellm_provider",
        "supported_environments",
        "tier",
        "updated_at",
        "updated_by",
    }
)
"""Informational keys of `model_info`, which are ignored."""

_STRATEGIES = {
    "simple-shuffle": "order",
    "least-busy": "least-busy",
    "latency-based-routing": "fastest",
    "cost-based-routing": "cheapest",
    "usage-based-routing": "most-quota",
    "usage-based-routing-v2": "most-quota",
}

_SETTINGS = {
    "model_group_alias": "aliases",
    "allowed_fails": "allowed_fails",
    "cooldown_time": "cooldown_seconds",
    "num_retries": "retries",
    "request_timeout": "timeout_seconds",
    "stream_timeout": "timeout_seconds",
    "timeout": "timeout_seconds",
}

_CACHE = frozenset({"cache", "cache_responses", "cache_params"})
_CACHED = [("type", "local"), ("mode", "default_on")]
"""The `cache_params` that match this router's behaviour."""

_ALWAYS = frozenset({"enable_pre_call_checks", "enable_tag_filtering", "tag_filtering_match_any"})
"""Settings that match this router's behaviour."""

_MEANT_EVEN_IF_OFF = frozenset({"tag_filtering_match_any"})

_SECTIONS = ("router_settings", "litellm_settings", "general_settings", "environment_variables")

_HINTS = {
    "content_policy_fallbacks": "use fallbacks",
    "context_window_fallbacks": "use fallbacks; models that do not support a message are skipped",
    "drop_params": "unsupported parameters are never dropped",
    "general_settings": "set callers and tokens with options of `a2a-adapters serve`",
    "environment_variables": "set them in the server's environment",
    "redis_host": "processes share state with `--storage postgresql://...`",
    "redis_url": "processes share state with `--storage postgresql://...`",
    "tag_filtering_match_any": "one matching tag suffices",
    "set_verbose": "set the log level with an option of `a2a-adapters serve`",
}


class SettingError(ValueError):
    """A setting is not supported or refers to something unknown.

    Attributes:
        path: Keys that lead to the setting.
    """

    def __init__(self, reason: str, *path: str | int) -> None:
        super().__init__(reason)
        self.path = path


def translated_deployment(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Move router settings in `litellm_params` and `model_info` to the deployment.

    Raises:
        ValueError: A setting of litellm's router is not supported.
    """
    found = {key: value for key, value in settings.items() if key != "model_info"}
    about, params = settings.get("model_info") or {}, settings.get("litellm_params")
    if not isinstance(about, dict):
        raise ValueError("model_info must be a mapping")  # noqa: TRY004 - pydantic explains it
    if isinstance(params, dict):
        found["litellm_params"] = {}
        # Answers are always streamed, so the stream timeout applies.
        for name in sorted(params, key=lambda name: name != "stream_timeout"):
            if params[name] is not None:
                _take_param(found, str(name), params[name])
    for name, value in about.items():
        _take_about(found, str(name), value)
    return found


def _take_param(found: dict[str, Any], name: str, value: Any) -> None:
    """Translate an entry of `litellm_params`."""
    if name in _ALIEN or name.startswith(_ALIEN_PREFIXES):
        hint = _ALIEN.get(name, "list the models")
        raise ValueError(f"litellm_params.{name} is not supported: {hint}")
    if name in _MOVED:
        found.setdefault(_MOVED[name], value)
    elif name in _PRICES:
        _add_price(found, name, value)
    else:
        found["litellm_params"][name] = value


def _take_about(found: dict[str, Any], name: str, value: Any) -> None:
    """Translate an entry of `model_info`."""
    if name in _PRICES:
        _add_price(found, name, value)
    elif name == "id":
        found.setdefault("id", str(value))
    elif name in ("max_tokens", "max_output_tokens"):
        found.setdefault("max_tokens", value)
    elif name in ("base_model", "max_input_tokens", "order", "quality", "tags", "weight"):
        found.setdefault(name, value)
    elif name.startswith("supports_"):
        found.setdefault("supports", {})[name.removeprefix("supports_")] = value
    elif name == "mode" and value not in ("chat", "completion", None):
        raise ValueError(f"model_info.mode is {value!r}; only chat models are supported")
    elif name != "mode" and name not in _ABOUT:
        raise ValueError(f"model_info.{name} is not supported")


def _add_price(found: dict[str, Any], name: str, value: Any) -> None:
    key, factor = _PRICES[name]
    try:
        price = float(value) * factor
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number of USD") from None
    found["price"] = {key: price, **found.get("price", {})}


def translated_file(content: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a file of litellm's proxy or Router to this router's settings.

    Raises:
        SettingError: A setting is not supported.
    """
    found = {key: value for key, value in content.items() if key not in _SECTIONS}
    if "model_list" in found:
        found.setdefault("deployments", found.pop("model_list"))
    if "model_group_alias" in found:
        found.setdefault("aliases", found.pop("model_group_alias"))
    for section in _SECTIONS:
        settings = content.get(section) or {}
        if section in _HINTS and settings:
            raise SettingError(f"not supported: {_HINTS[section]}", section)
        if not isinstance(settings, dict):
            raise SettingError("must be a mapping", section)
        for name, value in settings.items():
            _take_setting(found, section, str(name), value)
        if settings.get("cache") or settings.get("cache_responses"):
            found.setdefault("cache", _cache(section, settings.get("cache_params") or {}))
    return found


def _take_setting(found: dict[str, Any], section: str, name: str, value: Any) -> None:
    if value in (None, False, [], {}) and name not in _MEANT_EVEN_IF_OFF:
        return
    if name in _SETTINGS:
        found.setdefault(_SETTINGS[name], value)
    elif name == "routing_strategy":
        if value not in _STRATEGIES:
            known = ", ".join(_STRATEGIES)
            raise SettingError(f"{value!r} is not one of {known}", section, name)
        found.setdefault("strategy", _STRATEGIES[value])
    elif name == "disable_cooldowns":
        found["cooldown_seconds"] = 0
    elif name == "fallbacks" and isinstance(value, list):
        _fallbacks(found).update({k: v for each in value for k, v in dict(each).items()})
    elif name == "default_fallbacks":
        _fallbacks(found)["*"] = value
    elif name not in _CACHE and (name not in _ALWAYS or value is not True):
        hint = f": {_HINTS[name]}" if name in _HINTS else ""
        raise SettingError(f"not supported{hint}", section, name)


def _cache(section: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Translate litellm's `cache_params`."""
    for name, value in params.items():
        is_of_chats = name == "supported_call_types" and "acompletion" in (value or ())
        if not (name == "ttl" or (name, value) in _CACHED or is_of_chats):
            reason = f"{value!r} is not supported; all answers are cached in memory"
            raise SettingError(reason, section, "cache_params", name)
    return {"seconds": params["ttl"]} if params.get("ttl") else {}


def _fallbacks(found: dict[str, Any]) -> dict[str, Any]:
    fallbacks = found.setdefault("fallbacks", {})
    if not isinstance(fallbacks, dict):
        raise SettingError("must be a mapping", "fallbacks")
    return fallbacks
