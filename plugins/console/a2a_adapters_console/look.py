"""Settings of the console's page: its title, logo, colour and view."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from a2a_adapters import ConfigurationError
from a2a_adapters.plugin import check_fields

__all__ = ["Console"]

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
_LEAST_CONTRAST = 4.5
"""The contrast of text that people with low vision can read (WCAG 2.2, 1.4.3)."""

_LOGOS = ("svg", "png", "jpg", "webp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The console with a look of its own: `build_app(target, dialects=[Console(title="Desk")])`.

    Attributes:
        title: The page's title; by default "A2A console", or the agent's name in the chat view.
        logo: A file with an image of type SVG, PNG, JPEG or WebP.
        colour: The colour of buttons and links, such as "#0a5fa5", with white text on it.
        view: "chat" shows users the chat alone; `?view=console` in the address shows the rest.

    Raises:
        ConfigurationError: The logo is not such a file, or the colour is invalid or too light.
    """

    dialect: ClassVar[str] = "console"

    title: str = ""
    logo: str | Path | None = None
    colour: str = ""
    view: Literal["console", "chat"] = "console"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.logo is not None and self.logo_type not in _LOGOS:
            kinds = ", ".join(f".{kind}" for kind in _LOGOS)
            raise ConfigurationError(f"Console.logo must be a file with {kinds}, not {self.logo}")
        if not self.colour:
            return
        if not _COLOUR.fullmatch(self.colour):
            raise ConfigurationError(
                f"Console.colour must be of the form '#0a5fa5', not {self.colour!r}"
            )
        if (contrast := _contrast_with_white(self.colour)) < _LEAST_CONTRAST:
            raise ConfigurationError(
                f"Console.colour {self.colour} is too light for white text: its contrast is "
                f"{contrast:.1f}, less than {_LEAST_CONTRAST}"
            )

    @property
    def logo_type(self) -> str:
        """The ending of the logo's name; "" without a logo."""
        return Path(self.logo).suffix.lower().removeprefix(".") if self.logo else ""

    def logo_content(self) -> bytes:
        """Read the logo.

        Raises:
            ConfigurationError: The file cannot be read.
        """
        try:
            return Path(self.logo or "").read_bytes()
        except OSError as error:
            raise ConfigurationError(
                f"Console.logo {self.logo} cannot be read: {error.strerror}"
            ) from error


def _contrast_with_white(colour: str) -> float:
    """Return the contrast ratio of a colour and white (WCAG 2.2, relative luminance)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
