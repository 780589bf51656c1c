"""Draws line plots as SVG for light and dark backgrounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from math import ceil, log10

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 40, 48
COLOURS = ("#2f7ed8", "#d9822b", "#2ca05a", "#a355c9", "#c23b4e")
_STEPS = 5


def svg(
    title: str,
    label: str,
    places: Sequence[int],
    lines: Mapping[str, Sequence[float]],
    *,
    is_logarithmic: bool = False,
) -> str:
    """Return a plot of lines, each with a value for the first positions or all.

    The axis begins at 0, or at 1 if it is logarithmic.
    """
    most = max(max(values) for values in lines.values())
    step = ceil(most / _STEPS)
    powers = [10**power for power in range(ceil(log10(most)) + 1)]
    marks = powers if is_logarithmic else range(0, step * _STEPS + 1, step)

    def x(number: int) -> float:
        return LEFT + number * (WIDTH - LEFT - RIGHT) / (len(places) - 1)

    def y(value: float) -> float:
        share = log10(max(value, 1)) / log10(marks[-1]) if is_logarithmic else value / marks[-1]
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    drawn = [text(LEFT, TOP - 20, title, "start", 15)]
    for value in marks:
        drawn.append(line([(LEFT, y(value)), (WIDTH - RIGHT, y(value))], "#8886", 1))
        drawn.append(text(LEFT - 8, y(value) + 4, f"{value:,}", "end"))
    for number, place in enumerate(places):
        drawn.append(text(x(number), HEIGHT - BOTTOM + 18, str(place), "middle"))
    drawn.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, label, "middle"))
    ends = spread([y(values[-1]) for values in lines.values()])
    for (name, values), colour, end in zip(lines.items(), COLOURS, ends, strict=False):
        drawn.append(line([(x(n), y(value)) for n, value in enumerate(values)], colour, 2))
        drawn.append(text(x(len(values) - 1) + 8, end + 4, name, "start", colour=colour))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' font-family="sans-serif"><title>{escape(title)}</title>{"".join(drawn)}</svg>\n'
    )


def spread(heights: Sequence[float], apart: float = 16) -> list[float]:
    """Return the heights in their order, spaced so that labels do not overlap."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    found = list(heights)
    for above, below in pairwise(order):
        found[below] = max(found[below], found[above] + apart)
    return found


def line(points: Sequence[tuple[float, float]], colour: str, width: int) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def text(x: float, y: float, shown: str, anchor: str, size: int = 12, colour: str = "#888") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}"'
    return f"<text {place}>{escape(shown)}</text>"
