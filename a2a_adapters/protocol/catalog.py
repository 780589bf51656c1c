"""The words of an AI Catalog, by which hosts list their agents.

See https://agent-card.github.io/ai-catalog/
"""

from __future__ import annotations

CATALOG_PATH = "/.well-known/ai-catalog.json"
"""Where a host's catalog is."""

CATALOG_TYPE = "application/ai-catalog+json"
"""Media type of a catalog, also of one that another lists."""

CARD_TYPE = "application/a2a-agent-card+json"
"""Media type of an agent's card."""
