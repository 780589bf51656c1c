"""Generated bodies of requests to a dialect."""

from __future__ import annotations

import asyncio
import json

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)

NESTED = "[" * 5000
"""A body that is nested too deeply."""


def check_answers(make_app, paths, bodies, judge, *, always=(NESTED,)):
    """Post generated bodies, other JSON and bytes to new apps, and judge each response.

    Args:
        make_app: Makes an app.
        paths: The paths of the requests.
        bodies: A strategy of the values that resemble the right bodies.
        judge: Asserts that the response to a body is right, given both.
        always: Bodies that are posted each time.
    """

    async def post_all(posts):
        transport = httpx.ASGITransport(make_app(), raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            for path, content in posts:
                judge(await http.post(path, content=content), content)

    contents = (json_values | bodies).map(json.dumps) | st.binary()

    @settings(suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.sampled_from(paths), contents)))
    def check(posts):
        asyncio.run(post_all([*posts, *((paths[0], content) for content in always)]))

    check()
