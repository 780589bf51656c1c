"""Remote A2A agents as CrewAI's own models, tools and agents."""

from __future__ import annotations
