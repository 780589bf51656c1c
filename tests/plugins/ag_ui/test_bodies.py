"""Bodies of requests, right, wrong and odd."""

from __future__ import annotations

import json

import httpx
import pytest
from hypothesis import strategies as st

from a2a_adapters import Limits, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.ag_ui.served import Heard, asked
from tests.support.bodies import check_answers, json_values

RUN = "/ag-ui"


def worker(text: str) -> str:
    """Answer."""
    return text


def app(**limits):
    options = ServerOptions(limits=Limits(**limits))
    return build_app(worker, name="worker", dialects=["ag-ui"], options=options)


sources = st.fixed_dictionaries(
    {"type": st.sampled_from(["data", "url", "file"])},
    optional={"value": st.text(max_size=9) | st.just("YQ=="), "mimeType": st.text(max_size=9)},
)
parts = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "image", "audio", "document", "binary"])},
        optional={"text": st.text(), "source": sources | json_values, "metadata": json_values},
    ),
    max_size=3,
)
messages = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.text(max_size=4),
            "role": st.sampled_from(["user", "assistant", "system", "tool", "activity", "robot"]),
        },
        optional={
            "content": st.text(max_size=9) | parts | json_values,
            "toolCallId": st.text(max_size=4),
        },
    ),
    max_size=4,
)
resumes = st.lists(
    st.fixed_dictionaries(
        {"interruptId": st.text(), "status": st.sampled_from(["resolved", "cancelled", "x"])},
        optional={"payload": json_values},
    ),
    max_size=2,
)
bodies = st.fixed_dictionaries(
    {
        "threadId": st.text(max_size=9) | json_values,
        "runId": st.text(max_size=9) | json_values,
        "messages": messages | json_values,
    },
    optional={
        "state": json_values,
        "tools": json_values,
        "context": json_values,
        "forwardedProps": json_values,
        "resume": resumes | json_values,
        "protocolVersion": st.sampled_from(["1.0", "0.9", "2.7", ""]) | json_values,
    },
)


def test_wrong_bodies_get_errors():
    def judge(response, content):
        if response.status_code == 200:
            Heard(response, json.loads(content))
        else:
            assert response.status_code < 500
            assert response.json()["error"]["message"]

    check_answers(app, [RUN], bodies, judge)


async def test_a_body_that_is_too_large_is_refused():
    async with running(app(body_bytes=2000)) as url, httpx.AsyncClient(base_url=url) as http:
        refused = await http.post(RUN, json=asked("x", state="x" * 3000))
        taken = await http.post(RUN, json=asked("x"))
    assert (refused.status_code, taken.status_code) == (413, 200)
    assert refused.json()["error"]["message"]


async def test_a_state_that_is_too_large_is_an_error_of_the_run():
    async with running(app(metadata_bytes=2000)) as url, httpx.AsyncClient(base_url=url) as http:
        given = asked("x", state="x" * 3000)
        heard = Heard(await http.post(RUN, json=given), given)
    assert heard.last["type"] == "RUN_ERROR"
    assert "2000 bytes at most" in heard.last["message"]


@pytest.mark.parametrize(("allowed", "status"), [((), 403), (["https://page.example"], 200)])
async def test_pages_of_other_sites_need_permission(allowed, status):
    options = ServerOptions(cors_origins=allowed)
    served = build_app(worker, name="worker", dialects=["ag-ui"], options=options)
    async with running(served) as url, httpx.AsyncClient(base_url=url) as http:
        headers = {"Origin": "https://page.example"}
        from_page = await http.post(RUN, json=asked("x"), headers=headers)
    assert from_page.status_code == status


async def test_a_number_that_is_too_large_is_refused(http):
    body = f'{json.dumps(asked("x"))[:-1]}, "forwardedProps": {{"a": [-1e999]}}}}'
    refused = await http.post(RUN, content=body)
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == "a number is too large"


async def test_another_type_of_content_is_refused(http):
    headers = {"Content-Type": "text/plain"}
    refused = await http.post(RUN, content=json.dumps(asked("x")), headers=headers)
    assert refused.status_code == 400
    assert "application/json" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"threadId": 1}, "threadId"),
        ({"threadId": ""}, "threadId"),
        ({"runId": "x" * 501}, "runId"),
        ({"messages": [{"id": "m", "role": "robot", "content": "x"}]}, "messages.0"),
        (
            {
                "messages": [
                    {
                        "id": "m",
                        "role": "user",
                        "content": [
                            {
                                "type": "image",
                                "source": {"type": "data", "value": "%", "mimeType": "image/png"},
                            }
                        ],
                    }
                ]
            },
            "messages.0.content.0: the data is not base64",
        ),
    ],
)
async def test_a_mistake_is_named_by_its_place(http, change, place):
    given = {**asked("x"), **change}
    response = await http.post(RUN, json=given)
    if response.status_code == 200:
        assert place in Heard(response, given).last["message"]
    else:
        assert response.status_code == 400
        assert place in response.json()["error"]["message"]
