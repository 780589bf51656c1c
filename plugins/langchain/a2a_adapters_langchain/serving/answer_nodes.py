"""Finds the nodes of a graph whose tokens are its answer.

Those are the nodes that can be the last: they have an edge to END, or a branch or `Command`
annotated to lead there, or a person answers what they say in a loop, or they are agents without an
edge whose tools hand over to other agents only. Another node whose successor is decided at runtime
counts only if there is no other: of several, any may check what another has written. The tokens of
a classifier, a planner or a tool are not the answer. In an agent of `create_agent` it is the
model's node, not its middleware.
The same rule applies to subgraphs.

A workflow of the functional API has one node, its entry point; the tokens of its tasks are not the
answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from types import FunctionType, MethodType
from typing import Any, TypeAlias

from langgraph.constants import END

from a2a_adapters import TargetError
from a2a_adapters_langchain.serving.packages import is_of_langchain
from a2a_adapters_langchain.serving.references import code_of, names_in, reachable
from a2a_adapters_langchain.serving.schema import is_graph, is_remote, local_graphs

IsAnswer: TypeAlias = Callable[[str], bool]
"""Whether the tokens of a task, given by its path, are part of the answer."""

_Path: TypeAlias = tuple[str, ...]

_MIDDLEWARE = (".before_agent", ".before_model", ".after_model", ".after_agent")


def answer_filter(graph: Any, stream_nodes: Collection[str] | None) -> IsAnswer | None:
    """Return the predicate for tasks whose tokens are the answer; None if no node has any.

    Raises:
        TargetError: A name in `stream_nodes` is not a node of the graph.
    """
    if stream_nodes is None:
        can_be_last = functools.cache(functools.partial(_can_be_last, graph))
        return lambda task: can_be_last(names_of(task))
    names = frozenset(stream_nodes)
    known = {name for each in local_graphs(graph) for name in each.nodes}
    if hasattr(graph, "builder") and (unknown := sorted(names - known)):
        raise TargetError(f"stream_nodes: the graph has no node {', '.join(unknown)}")
    return (lambda task: not names.isdisjoint(names_of(task))) if names else None


def _can_be_last(graph: Any, path: _Path) -> bool:
    node, *inner_path = path
    if node not in final_nodes(graph):
        return False
    if not inner_path:
        return True
    inner = graph_at(graph, (node,))
    return inner is not None and _can_be_last(inner, tuple(inner_path))


def final_nodes(graph: Any) -> Collection[str]:
    """Return the nodes of a graph that can be the last, without tools and middleware."""
    builder = getattr(graph, "builder", None)
    if builder is None:
        return tuple(getattr(graph, "nodes", ()))
    nodes = [name for name in builder.nodes if _has_answers(graph, name)]
    targets = {name: _targets(builder, name) for name in nodes}
    ending = [
        name
        for name in nodes
        if END in targets[name] or _is_answered(graph, name) or _just_ends(graph, name)
    ]
    unknown = [name for name in nodes if not targets[name]]
    return ending or (unknown if len(unknown) == 1 else [])


def _just_ends(graph: Any, name: str) -> bool:
    """Whether no edge leaves a node, and its code, with that of tools, names no `Command`.

    An agent also ends if its tools hand over to agents only: these check nothing.
    """
    builder, node = graph.builder, graph.nodes[name].bound
    targets = _targets(builder, name)
    after = (graph.nodes[each].bound for each in targets or builder.nodes if each != END)
    hands_over = is_graph(node) and all(map(is_graph, after))
    if _leads_on(builder, name) or (targets and not hands_over):
        return False
    found = reachable(node, with_tools=not hands_over)
    functions = (each for each in found if isinstance(each, FunctionType | MethodType))
    own = (each for each in functions if not is_of_langchain(each.__module__ or ""))
    return not any("Command" in names_in(code) for code in filter(None, map(code_of, own)))


def _leads_on(builder: Any, node: str) -> bool:
    """Whether an edge leaves a node."""
    joined = (node in starts for starts, _ in builder.waiting_edges)
    return node in builder.branches or any(joined) or any(node == each for each, _ in builder.edges)


def _is_answered(graph: Any, name: str) -> bool:
    """Whether the caller is asked after a node, and the reply leads back to it."""
    after = _targets(graph.builder, name) - {END}
    is_asked = name in graph.interrupt_after_nodes
    asking = [each for each in after if is_asked or _asks(graph, each)]
    return any(_leads_to(graph.builder, each, name) for each in asking)


def _asks(graph: Any, name: str) -> bool:
    """Whether a node asks the caller."""
    codes = filter(None, map(code_of, reachable(graph.nodes[name].bound)))
    asks = any("interrupt" in names_in(code) for code in codes)
    return asks or name in graph.interrupt_before_nodes


def leads_to(graph: Any, start: str, end: str) -> bool:
    """Whether a node of a graph can follow another one, as far as is known."""
    builder = getattr(graph, "builder", None)
    return builder is None or _leads_to(builder, start, end)


def _leads_to(builder: Any, start: str, end: str) -> bool:
    """Whether a node can follow another one, however many are between them."""
    found = {start}
    while end not in found:
        targets = [_targets(builder, each) for each in found - {END}]
        if not all(targets):
            return True  # they are decided at runtime
        if not (more := set().union(*targets) - found):
            return False
        found |= more
    return True


def _has_answers(graph: Any, name: str) -> bool:
    is_tool_node = hasattr(graph.nodes[name].bound, "tools_by_name")
    return not is_tool_node and not name.endswith(_MIDDLEWARE)


def _targets(builder: Any, node: str) -> AbstractSet[str]:
    """Return the successors of a node, also through middleware; empty if they are unknown."""
    found: set[str] = set()
    todo = {node}
    while todo:
        targets = _next(builder, todo.pop())
        todo |= {name for name in targets - found if name.endswith(_MIDDLEWARE)}
        found |= targets
    return found


def _next(builder: Any, node: str) -> AbstractSet[str]:
    targets = {end for start, end in builder.edges if start == node}
    targets |= {end for starts, end in builder.waiting_edges if node in starts}
    targets |= set(builder.nodes[node].ends or ())
    for branch in builder.branches.get(node, {}).values():
        targets |= set((branch.ends or {}).values())
    is_open = any(branch.ends is None for branch in builder.branches.get(node, {}).values())
    return set() if is_open and END not in targets else targets


def calls_tools_directly(graph: Any) -> bool:
    """Whether only nodes of tools follow a model, and only the model follows these."""
    builder = getattr(graph, "builder", None)
    if builder is None:
        return False
    following = {name: _following(builder, name) for name in builder.nodes}
    for name in (name for name in builder.nodes if _has_answers(graph, name)):
        between = following[name] - {name, END}
        if not following[name] or any(not following[each] for each in between):
            return False  # a `Command` may lead to any node
        if any(_has_answers(graph, each) for each in between):
            return False  # a node of the user's own may check
        if any(following[each] - {name, END} for each in between):
            return False
    return True


def _following(builder: Any, node: str) -> AbstractSet[str]:
    return {name for name in _targets(builder, node) if not name.endswith(_MIDDLEWARE)}


def graph_at(graph: Any, path: _Path) -> Any:
    """Return the graph within a graph that a path of nodes leads to; None if it is unknown."""
    for node in path:
        graph = dict(graph.get_subgraphs()).get(node)
        if graph is None or is_remote(graph):
            return None
    return graph


def has_remote(graph: Any) -> bool:
    """Whether a node is a graph on another server."""
    return any(is_remote(inner) for _, inner in graph.get_subgraphs(recurse=True))


def names_of(task: str) -> _Path:
    """Return the nodes of a path such as `team:1f0c|writer:88e1`.

    Repeated calls of a graph within a node are numbered: `node:1f0c|1|inner:88e1`.
    """
    steps = (step.partition(":")[0] for step in task.split("|"))
    return tuple(name for name in steps if not name.isdigit())
