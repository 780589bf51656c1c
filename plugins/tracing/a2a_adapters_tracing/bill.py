"""Collects the usage of an agent, and of the agents it calls, for one task."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_adapters_tracing.spending import (
    BILL,
    UNKNOWN,
    Account,
    Models,
    Spending,
    account_of,
    merged,
    models_of,
    rest_of,
    spending_of,
    sum_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters.plugin import JSON

_MOST_DELEGATES = 100
_DEEPEST = 5
_LENGTH = 200
_NAMES = ("agent", "task_id", "state")


@dataclass(frozen=True, slots=True)
class Delegate:
    """A task of another agent.

    Attributes:
        agent: The agent's name.
        task_id: Its task; "" if it answered with a message.
        state: The state of its task.
        account: What it has used, including its own delegates.
        counted_by: The modules that reported its tokens to their framework, which adds them up.
        delegates: Its own delegates, as in the bill of its task.
    """

    agent: str
    task_id: str
    state: str
    account: Account
    counted_by: Collection[str] = ()
    delegates: Any = ()

    @property
    def models(self) -> Models:
        """Spending by model."""
        rest = rest_of(self.account.total, sum_of(self.account.models.values()))
        return merged([self.account.models, {UNKNOWN: rest} if rest else {}])

    def as_json(self, *, is_counted: bool, left: Iterator[int]) -> dict[str, JSON]:
        """Return the delegate's entry in a bill, with at most `left` delegates of its own."""
        entry: dict[str, JSON] = {"agent": self.agent, "task_id": self.task_id, "state": self.state}
        entry |= {"spent": self.account.total.as_json(), "models": _as_json(self.models)}
        if is_counted:
            entry["is_counted"] = True
        if nested := _shortened(self.delegates, _DEEPEST, left):
            entry["delegates"] = nested
        return entry


def delegate_of(
    agent: str, task_id: str, state: str, metadata: Mapping[str, Any], counted_by: Collection[str]
) -> Delegate:
    """Return a delegate whose task has this metadata."""
    bill = metadata.get(BILL)
    nested = bill.get("delegates") if isinstance(bill, Mapping) else None
    return Delegate(
        agent[:_LENGTH],
        task_id[:_LENGTH],
        state,
        account_of(metadata),
        counted_by,
        _shortened(nested, _DEEPEST, iter(range(_MOST_DELEGATES))),
    )


@dataclass(slots=True)
class Delegates:
    """The delegates of one task, added by any thread."""

    _delegates: dict[object, Delegate] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, key: object, delegate: Delegate, *, is_new: bool) -> None:
        """Add a delegate, or replace the entry of its task.

        Args:
            key: The agent's address and its task.
            delegate: The delegate.
            is_new: Whether to add it if it is not known yet.
        """
        with self._lock:
            if key in self._delegates or (is_new and len(self._delegates) < _MOST_DELEGATES):
                self._delegates[key] = delegate

    def values(self) -> list[Delegate]:
        """Return the delegates in the order of their first calls."""
        with self._lock:
            return list(self._delegates.values())


@dataclass(frozen=True, slots=True)
class Earlier:
    """The part of a stored task's bill that is about the messages answered before.

    Attributes:
        own: What the agent's own models used.
        delegates: The delegates by agent and task.
    """

    own: Account = field(default_factory=Account)
    delegates: Mapping[tuple[str, str], Delegate] = field(default_factory=dict)


def earlier_of(bill: object, package: str) -> Earlier:
    """Parse a stored bill; `package` is that of the task's adapter."""
    if not isinstance(bill, Mapping):
        return Earlier()
    own = bill.get("own")
    models = models_of(own.get("models")) if isinstance(own, Mapping) else {}
    used = Account(spending_of(own), models)
    found: dict[tuple[str, str], Delegate] = {}
    listed = bill.get("delegates")
    if listed is None and (rest := _rest(used, models_of(bill.get("models")))).total:
        found["", ""] = Delegate("", "", "", rest)
    for number, each in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(each, Mapping):
            agent, task_id, state = (str(each.get(name, "")) for name in _NAMES)
            account = Account(spending_of(each.get("spent")), models_of(each.get("models")))
            counted_by = [package] if each.get("is_counted") else []
            nested = each.get("delegates", ())
            found[agent, task_id or f"message {number}"] = Delegate(
                agent, task_id, state, account, counted_by, nested
            )
    return Earlier(used, found)


def _rest(own: Account, models: Models) -> Account:
    """Return what the delegates of a bill without delegates have used."""
    rests = {name: rest_of(each, own.models.get(name, Spending())) for name, each in models.items()}
    named = {name: each for name, each in rests.items() if each}
    return Account(rest_of(sum_of(models.values()), own.total), named)


def without_agents(bill: object) -> dict[str, JSON]:
    """Return the sums of a bill, without the agents and tasks behind them."""
    known = bill if isinstance(bill, Mapping) else {}
    sums: dict[str, JSON] = {}
    if isinstance(own := known.get("own"), Mapping):
        sums["own"] = _account_as_json(Account(spending_of(own), models_of(own.get("models"))))
    if "models" in known:
        sums["models"] = _as_json(models_of(known["models"]))
    return sums


def bill_of(
    own: Account,
    reported: Mapping[str, Any],
    delegates: Collection[Delegate],
    packages: Collection[str],
) -> dict[str, JSON]:
    """Return the metadata of a task with its delegates.

    Args:
        own: What the agent's own models used.
        reported: The metadata that the adapter reported.
        delegates: The delegates.
        packages: The packages of the adapter, whose framework has counted the delegates that they
            reported to it.
    """
    is_counted = {id(each): _is_counted(own, each, packages) for each in delegates}
    counted = sum_of(each.account.total for each in delegates if is_counted[id(each)])
    added = [each.account.total for each in delegates if not is_counted[id(each)]]
    if own.total.usd is None:  # the framework knows tokens, but no prices
        added.append(Spending(usd=counted.usd))
    total = sum_of([own.total, *added])
    metadata: dict[str, JSON] = {}
    if total.usage is not None:
        usage = reported.get("usage")
        known = dict(usage) if isinstance(usage, Mapping) else {}
        metadata["usage"] = {**known, **Spending(total.usage).as_json()}
    envelope = reported.get("cost_envelope")
    envelope = dict(envelope) if isinstance(envelope, Mapping) else {}
    if total.usd is not None and envelope.get("currency", "USD") == "USD":
        cost: dict[str, JSON] = {"actual": round(total.usd, 9), "currency": "USD"}
        metadata["cost_envelope"] = {**envelope, **cost}
    models = merged([_own_models(own, counted), *(each.models for each in delegates)])
    left = iter(range(_MOST_DELEGATES))
    entries: list[JSON] = [
        each.as_json(is_counted=is_counted[id(each)], left=left) for each in delegates
    ]
    bill: dict[str, JSON] = {"own": _account_as_json(own), "models": _as_json(models)}
    metadata[BILL] = {**bill, "delegates": entries}
    return metadata


def _is_counted(own: Account, delegate: Delegate, packages: Collection[str]) -> bool:
    by = {module.partition(".")[0] for module in tuple(delegate.counted_by)}
    return own.total.usage is not None and not by.isdisjoint(packages)


def _own_models(own: Account, counted: Spending) -> Models:
    """Return the spending of the agent's own models, without delegates that it has counted."""
    rest = rest_of(own.total, counted)
    named = sum_of(own.models.values())
    if rest_of(named, rest):  # a model stands for delegates, too
        name = next(iter(own.models)) if len(own.models) == 1 else UNKNOWN
        return {name: rest} if rest else {}
    unnamed = rest_of(rest, named)
    return merged([own.models, {UNKNOWN: unnamed} if unnamed else {}])


def _account_as_json(account: Account) -> dict[str, JSON]:
    return {**account.total.as_json(), "models": _as_json(account.models)}


def _as_json(models: Models) -> dict[str, JSON]:
    return {name: spent.as_json() for name, spent in models.items()}


def _shortened(delegates: object, depth: int, left: Iterator[int]) -> list[JSON]:
    """Return the delegates of a remote agent, reduced to the fields of a bill."""
    shortened: list[JSON] = []
    for each in delegates if isinstance(delegates, list | tuple) and depth else ():
        if not isinstance(each, Mapping) or next(left, None) is None:
            continue
        names = {name: str(each.get(name, ""))[:_LENGTH] for name in _NAMES}
        entry: dict[str, JSON] = {**names, "spent": spending_of(each.get("spent")).as_json()}
        if nested := _shortened(each.get("delegates"), depth - 1, left):
            entry["delegates"] = nested
        shortened.append(entry)
    return shortened
