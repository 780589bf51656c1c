"""Chat Completions, called by the real `openai` client."""

from __future__ import annotations

import base64
import json

import openai
import pytest

from a2a_adapters import BearerTokens, Limits, ServerOptions
from tests.plugins.openai.served import (
    assistant,
    calling,
    chunks_of,
    client,
    joined,
    say,
    serving,
    text_of,
    user,
    worker,
)

PNG = base64.b64encode(b"png").decode()


async def test_each_agent_is_a_model():
    async def poet(text: str) -> str:
        """Write verses."""
        return text

    async with calling({"worker": worker, "poet": poet}, name=None) as api:
        models = [model async for model in api.models.list()]
        poet_model = await api.models.retrieve("poet")
        with pytest.raises(openai.NotFoundError, match="this server has: worker, poet"):
            await api.models.retrieve("painter")
        assert await text_of(api, "verse", model="poet") == "verse"
    assert [model.id for model in models] == ["worker", "poet"]
    assert poet_model.description == "Write verses."


async def test_a_completion(api):
    completion = await say(api, "hello")
    [choice] = completion.choices
    assert choice.message.content == "worked on hello "
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop")
    assert completion.id.startswith("chatcmpl-")
    assert (completion.object, completion.model) == ("chat.completion", "worker")


async def test_a_stream(api):
    chunks = await chunks_of(api, "hello")
    assert chunks[0].choices[0].delta.role == "assistant"
    assert joined(chunks) == "worked on hello "
    assert [c.choices[0].finish_reason for c in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1


async def test_usage_is_in_the_last_chunk_if_it_is_asked_for(api):
    chunks = await chunks_of(api, "COUNT", stream_options={"include_usage": True})
    without = await chunks_of(api, "COUNT")
    whole = await say(api, "COUNT")
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 7)
    assert all(chunk.usage is None for chunk in without)
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (3, 4)


async def test_news_of_the_work_is_reasoning_and_never_text(api):
    chunks = await chunks_of(api, "TOOL")
    whole = await say(api, "TOOL")
    expected = 'looking\nadd({"a":2})\nadd finished\n'
    assert (joined(chunks), joined(chunks, "reasoning_content")) == ("added", expected)
    message = whole.choices[0].message
    assert (message.content, message.reasoning_content) == ("added", expected)


@pytest.mark.parametrize("how", [text_of, chunks_of])
async def test_data_and_files_are_text(api, how):
    found = await how(api, "PARTS")
    text = found if isinstance(found, str) else joined(found)
    image = base64.b64encode(b"abc").decode()
    assert text == (
        'text\n\n{"a":1}\n\n[f.pdf](https://x.example/f.pdf)\n\n'
        f"![a.png](data:image/png;base64,{image})"
    )


async def test_files_of_the_user(api):
    parts = [
        {"type": "text", "text": "SEEN"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "image_url", "image_url": {"url": "https://x.example/i.png"}},
        {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}},
        {"type": "file", "file": {"file_data": f"data:text/plain;base64,{PNG}", "filename": "a"}},
    ]
    seen = await text_of(api, user(parts))
    assert seen == str(
        [
            (b"png", None, "image/png", ""),
            (None, "https://x.example/i.png", "", ""),
            (b"png", None, "audio/wav", ""),
            (b"png", None, "text/plain", "a"),
        ]
    )


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"type": "file", "file": {"file_id": "f"}}, "stores no files"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,%"}}, "not base64"),
        ({"type": "video"}, "unsupported part 'video'"),
        ("text", "must be an object with a type"),
    ],
)
async def test_an_unusable_part_is_refused_by_its_place(api, part, reason):
    with pytest.raises(openai.BadRequestError, match=reason) as refused:
        await say(api, user([part]))
    assert refused.value.param == "messages[0].content[0]"


@pytest.mark.parametrize("how", [say, chunks_of])
@pytest.mark.parametrize(
    ("text", "status", "reason", "code"),
    [
        ("REJECT", 400, "not my job", "rejected"),
        ("REFUSE", 400, "send something else", "rejected"),
        ("BOOM", 422, "failed", "failed"),
        ("HALF", 422, "failed", "failed"),
    ],
)
async def test_a_failure_names_its_reason_and_is_not_repeated(how, text, status, reason, code):
    async with serving() as url, client(url).with_options(max_retries=2) as api:
        with pytest.raises(openai.APIError, match=reason) as failed:
            await how(api, text)
    assert "secret" not in str(failed.value)
    assert failed.value.code == code
    if isinstance(failed.value, openai.APIStatusError):
        assert failed.value.status_code == status
        assert failed.value.response.request.headers["x-stainless-retry-count"] == "0"


async def test_a_question_ends_the_turn_and_the_next_message_answers_it(api):
    asked = await text_of(api, "ASK")
    result = await text_of(api, "ASK", assistant(asked), "Rome")
    streamed = await chunks_of(api, "ASK")
    again = await chunks_of(api, "ASK", assistant(joined(streamed)), "Oslo")
    assert asked == joined(streamed) == "Which city?"
    assert result.startswith("took Rome in ")
    assert joined(again).startswith("took Oslo in ")


async def test_choices_and_sign_in_are_text(api):
    assert await text_of(api, "CHOOSE") == "Which colour?\n\nChoices: red, green"
    assert "https://id.example/login" in await text_of(api, "LOGIN")


async def test_parameters_that_an_agent_does_not_follow_are_named(api):
    tool = {"type": "function", "function": {"name": "f"}}
    raw = api.chat.completions.with_raw_response
    result = await raw.create(
        model="worker", messages=[user("x")], temperature=0.5, seed=1, tools=[tool]
    )
    plain = await raw.create(model="worker", messages=[user("x")])
    assert set(result.headers["x-ignored-parameters"].split(", ")) == {
        "temperature",
        "seed",
        "tools",
    }
    assert "x-ignored-parameters" not in plain.headers


@pytest.mark.parametrize(
    "parameters",
    [
        {"n": 2},
        {"logprobs": True},
        {"tool_choice": "required"},
        {"modalities": ["text", "audio"]},
        {"stream": "maybe"},
        {"response_format": {"type": "xml"}},
    ],
)
async def test_parameters_that_would_change_the_answer_are_refused(api, parameters):
    with pytest.raises(openai.BadRequestError) as refused:
        await api.post(
            "/chat/completions",
            body={"model": "worker", "messages": [user("x")], **parameters},
            cast_to=object,
        )
    assert refused.value.param.split(".")[0] in parameters


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "the last message must be the user's"),
        ([user("a"), assistant("b")], "the last message must be the user's"),
        ([user("")], "the last message is empty"),
        ([{"role": "robot", "content": "x"}], "must be one of"),
    ],
)
async def test_messages_without_news_are_refused(api, messages, reason):
    with pytest.raises(openai.BadRequestError, match=reason):
        await say(api, *messages)


async def test_structured_output(api):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    named = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    any_json = {"type": "json_object"}

    async def structured(request):
        yield '{"a": ' if "schema" in request.text else "prose"
        yield "2}" if "schema" in request.text else ""

    data = await text_of(api, "DATA", response_format=any_json)
    streamed = await chunks_of(api, "DATA", response_format=any_json)
    async with calling(structured) as other:
        text = await text_of(other, "x", response_format=named)
        with pytest.raises(openai.UnprocessableEntityError, match="not JSON"):
            await text_of(other, "x", response_format=any_json)
    assert json.loads(data) == json.loads(joined(streamed)) == {"a": 1}
    assert json.loads(text) == {"a": 2}


async def test_metadata_and_the_user_reach_the_agent(api):
    text = await text_of(api, "METADATA", metadata={"k": "v"}, user="alice")
    assert text == "[('k', 'v'), ('user', 'alice')]"


async def test_callers_are_authenticated_by_the_api_key():
    options = ServerOptions(authentication=BearerTokens({"s3cret": "alice"}))
    async with serving(options=options) as url:
        async with client(url, "wrong") as api:
            with pytest.raises(openai.AuthenticationError) as refused:
                await api.models.list()
            with pytest.raises(openai.AuthenticationError):
                await say(api, "x")
        async with client(url, "s3cret") as api:
            assert await text_of(api, "x") == "worked on x "
    assert refused.value.code == "invalid_api_key"


async def test_too_many_requests_say_when_to_try_again():
    options = ServerOptions(
        authentication=BearerTokens({"s3cret": "alice"}), limits=Limits(requests_per_minute=1)
    )
    async with serving(options=options) as url, client(url, "s3cret") as api:
        await say(api, "x")
        with pytest.raises(openai.RateLimitError) as refused:
            await say(api, "x")
    assert int(refused.value.response.headers["retry-after"]) > 0


async def test_a_reply_without_a_task(api):
    assert await text_of(api, "REPLY") == "a reply"
