"""Valid, invalid and unusual request bodies, and unknown addresses."""

from __future__ import annotations

import json
import time

import httpx
import pytest
from hypothesis import strategies as st

from a2a_adapters import Limits, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.support.bodies import check_answers, json_values

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
HELLO = {
    CHAT: {"model": "worker", "messages": [{"role": "user", "content": "x"}]},
    RESPONSES: {"model": "worker", "input": "x"},
}


def worker(text: str) -> str:
    """Answer."""
    return text


def app(**limits):
    options = ServerOptions(limits=Limits(**limits))
    return build_app(worker, name="worker", dialects=["openai"], options=options)


kinds = ["text", "image_url", "input_text", "input_file", "file", "input_audio", "refusal"]
parts = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(kinds)},
        optional={
            name: json_values | st.just("data:,x") | st.just({"url": "data:a;base64,YQ=="})
            for name in (*kinds, "image_url", "file_data")
        },
    )
    | json_values,
    max_size=3,
)

roles = st.sampled_from(["user", "assistant", "system", "tool"]) | json_values
messages = st.lists(
    st.fixed_dictionaries(
        {"role": roles, "content": st.text(max_size=20) | parts | json_values},
        optional={"type": st.sampled_from(["message", "function_call_output"]) | json_values},
    ),
    max_size=4,
)

bodies = st.fixed_dictionaries(
    {"model": st.just("worker")},
    optional={
        "messages": messages | json_values,
        "input": st.text(max_size=20) | messages | json_values,
        "stream": st.booleans() | json_values,
        "background": st.booleans() | json_values,
        "response_format": st.just({"type": "json_object"}) | json_values,
        "text": st.just({"format": {"type": "json_object"}}) | json_values,
        "previous_response_id": st.sampled_from(["resp_x_1", "resp__reply"]) | json_values,
        "conversation": json_values | st.just("conv_" + "0" * 32),
        "metadata": json_values,
        "tools": json_values,
        "user": json_values,
        "n": json_values,
    },
)


def test_wrong_bodies_get_errors():
    def judge(response, _content):
        assert response.status_code < 500
        if not response.headers["content-type"].startswith("text/event-stream"):
            answer = response.json()
            assert answer.keys() & {"id", "error"}
            assert "error" not in answer or response.status_code < 400 or answer["error"]

    check_answers(app, [CHAT, RESPONSES], bodies, judge)


@pytest.mark.parametrize("path", HELLO)
async def test_a_body_that_is_too_large_is_refused_in_the_api_s_form(path):
    async with running(app(body_bytes=2000)) as url, httpx.AsyncClient(base_url=url) as http:
        refused = await http.post(path, json={**HELLO[path], "user": "x" * 3000})
        taken = await http.post(path, json=HELLO[path])
    assert (refused.status_code, taken.status_code) == (413, 200)
    assert refused.json()["error"]["message"]


@pytest.mark.parametrize("path", HELLO)
async def test_a_page_of_another_site_is_refused(http, path):
    headers = {"Origin": "https://evil.example"}
    from_page = await http.post(path, json=HELLO[path], headers=headers)
    labelled = {"Content-Type": "text/plain"}
    as_text = await http.post(path, content=json.dumps(HELLO[path]), headers=labelled)
    assert (from_page.status_code, as_text.status_code) == (403, 400)
    assert "application/json" in as_text.json()["error"]["message"]


@pytest.fixture
async def http():
    async with running(app()) as url, httpx.AsyncClient(base_url=url) as http:
        yield http


async def test_a_long_history_has_no_more_parts_than_an_agent_takes(http):
    said = [{"role": role, "content": "x"} for role in ("user", "assistant") * 100]
    body = {"model": "worker", "messages": [*said, {"role": "user", "content": "last"}]}
    answer = await http.post(CHAT, json=body)
    assert answer.json()["choices"][0]["message"]["content"].endswith("User: last")


@pytest.mark.parametrize("path", HELLO)
@pytest.mark.parametrize("place", ['"temperature": %s', '"tools": [{"a": %s}]', '"n": %s'])
@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400 + ".0"])
async def test_a_number_that_is_too_large_is_refused_wherever_it_is(http, path, place, number):
    body = f"{json.dumps(HELLO[path])[:-1]}, {place % number}}}"
    refused = await http.post(path, content=body)
    assert (refused.status_code, refused.json()["error"]["message"]) == (
        400,
        "a number is too large",
    )


@pytest.mark.parametrize("number", ["-1", "x", "9" * 20])
async def test_a_wrong_place_to_resume_from_is_refused(http, number):
    response = (await http.post(RESPONSES, json=HELLO[RESPONSES])).json()["id"]
    query = {"stream": "true", "starting_after": number}
    refused = await http.get(f"{RESPONSES}/{response}", params=query)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "starting_after")


@pytest.mark.parametrize(
    ("role", "content"),
    [
        ("user", '### Task:\n{"title": <chat_history>' + " " * 2_000),
        ("user", f'### Task:\n{{"title": <chat_history>USER: a{" " * 20_000}b</chat_history>'),
        ("assistant", '<details type="reasoning"' * 5_000),
    ],
)
async def test_texts_are_read_in_linear_time(role, content):
    said = [{"role": role, "content": content}, {"role": "user", "content": "x"}]
    body = {"model": "worker", "messages": said[:1] if role == "user" else said}
    async with running(app()) as url, httpx.AsyncClient() as http:
        begun = time.process_time()
        response = await http.post(url + CHAT, json=body)
    assert response.status_code == 200
    assert time.process_time() - begun < 5


async def test_reasoning_that_is_not_closed_is_text():
    said = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": 'a<details type="reasoning">b'},
        {"role": "user", "content": "y"},
    ]
    async with running(app()) as url, httpx.AsyncClient() as http:
        response = await http.post(url + CHAT, json={"model": "worker", "messages": said})
    assert 'a<details type="reasoning">b' in response.json()["choices"][0]["message"]["content"]
