"""Finds methods of a framework that classes or objects of its users override."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["overrides"]


def overrides(
    owner: object,
    name: str,
    package: str | tuple[str, ...],
    *,
    interfaces: Collection[type] = (),
    unless: Collection[str] = (),
) -> bool:
    """Return whether code outside of a framework overrides a method of the framework.

    Such code may check or change what the method returns. It is a class derived from one that
    implements the method, or a function that was set on the object.

    Args:
        owner: The object.
        name: The name of the method.
        package: The prefix of the names of the framework's modules, such as `crewai.`, or several.
        interfaces: Base classes whose method does nothing. Implementing it is not overriding it.
        unless: Names of other methods that return the same. If one of them is overridden by the
            same class, or by one derived from it, the result is false.
    """
    newest, *older = _places(owner, name, interfaces) or [0]
    is_own = newest < 0 or not type(owner).__mro__[newest].__module__.startswith(package)
    others = (each for other in unless for each in _places(owner, other, interfaces)[:1])
    return is_own and bool(older) and all(newest < other for other in others)


def _places(owner: object, name: str, interfaces: Collection[type]) -> list[int]:
    """Return the definitions of a method, newest first: -1 for the object, else class positions."""
    on_object = [-1] if name in getattr(owner, "__dict__", ()) else []
    classes = enumerate(type(owner).__mro__)
    of_classes = [at for at, each in classes if name in vars(each) and each not in interfaces]
    return on_object + of_classes
