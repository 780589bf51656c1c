"""Hooks of mkdocs: a page for the API of each package, versions, and llms.txt."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, InclusionLevel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation, Section
    from mkdocs.structure.pages import Page

_PACKAGE = re.compile(r"<!-- api: (\S+) -->")
"""The place of a package's API in api.md, which GitHub hides."""

_OPTIONS = "    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"


def on_config(config: MkDocsConfig, **_: object) -> MkDocsConfig:
    """Offer a choice of versions only where mike publishes several."""
    if "MIKE_DOCS_VERSION" not in os.environ:
        del config.extra["version"]
    return config


def on_files(files: Files, config: MkDocsConfig, **_: object) -> Files:
    """Add a page with the signatures and docstrings of each package in api.md."""
    for package in _PACKAGE.findall((Path(config.docs_dir) / "api.md").read_text()):
        content = f"# {package}\n\n::: {package}\n{_OPTIONS}"
        name = f"api/{package}.md"
        files.append(
            File.generated(config, name, content=content, inclusion=InclusionLevel.NOT_IN_NAV)
        )
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Replace the comments of api.md by links to the packages' pages."""
    if page.file.src_uri != "api.md":
        return markdown
    return _PACKAGE.sub(r"[Signatures and docstrings](api/\1.md)", markdown)


def on_nav(nav: Navigation, config: MkDocsConfig, **_: object) -> Navigation:
    """Remember the pages in the order of the navigation."""
    config.extra["llms"] = [
        (section.title, list(_pages_of(section))) for section in nav.items if section.children
    ]
    return nav


def _pages_of(section: Section) -> Iterator[str]:
    for child in section.children:
        if child.children:
            yield from _pages_of(child)
        else:
            yield child.file.src_uri


def on_post_build(config: MkDocsConfig, **_: object) -> None:
    """Write llms.txt (https://llmstxt.org): every page with its first sentence."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}"]
    for section, pages in config.extra["llms"]:
        lines += ["", f"## {section}", ""]
        for name in pages:
            text = (Path(config.docs_dir) / name).read_text()
            address = "" if name == "index.md" else f"{name.removesuffix('.md')}/"
            lines.append(f"- [{title(text)}]({config.site_url or './'}{address}): {summary(text)}")
    (Path(config.site_dir) / "llms.txt").write_text("\n".join(lines) + "\n")


def title(text: str) -> str:
    """Return the heading of a page."""
    return text.partition("\n")[0].removeprefix("# ")


def summary(text: str) -> str:
    """Return the first sentence of a page's first paragraph, without its links."""
    blocks = re.split(r"\n\s*\n", re.sub(r"(?ms)^```.*?^```$", "", text))
    paragraph = next(each for each in blocks if each.strip() and each.strip()[0] not in "#!|<-")
    plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(paragraph.split())).replace("*", "")
    return re.split(r"(?<=[.:])\s", plain)[0].rstrip(":.") + "."
