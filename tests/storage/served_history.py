"""A server that tests kill. It answers by all that was said before."""

from __future__ import annotations

import json
import sys

from a2a_adapters import AgentRequest, ServerOptions, serve

if __name__ == "__main__":

    async def recall(request: AgentRequest):
        """Tell what was said."""
        yield json.dumps([[turn.role, turn.text] for turn in request.history])

    serve(recall, port=0, options=ServerOptions(storage=sys.argv[1]))
