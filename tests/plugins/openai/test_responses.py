"""Responses, called by the real `openai` client."""

from __future__ import annotations

import asyncio

import openai
import pytest

from a2a_adapters import BearerTokens, InputRequired, ServerOptions, TokenUsage
from tests.plugins.openai.served import Hanging, calling, client, serving


async def ask(api, text, **options):
    return await api.responses.create(model="worker", input=text, **options)


async def events_of(api, text, **options):
    return [event async for event in await ask(api, text, stream=True, **options)]


def text_in(events):
    return "".join(e.delta for e in events if e.type == "response.output_text.delta")


async def test_a_response(api):
    response = await ask(api, "COUNT", metadata={"k": "v"})
    assert (response.output_text, response.status) == ("one two", "completed")
    assert (response.usage.input_tokens, response.usage.total_tokens) == (3, 7)
    assert (response.model, response.metadata) == ("worker", {"k": "v"})


async def test_a_stream_is_whole_and_numbered(api):
    events = await events_of(api, "TOOL")
    async with api.responses.stream(model="worker", input="x") as stream:
        parsed = [event async for event in stream]
        final = await stream.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type.removeprefix("response.") for event in events]
    assert kinds[:2] == ["created", "in_progress"]
    assert kinds[-1] == "completed"
    assert text_in(events) == "added"
    reasoning, message = events[-1].response.output
    assert reasoning.summary[0].text == 'looking\nadd({"a":2})\nadd finished\n'
    assert message.content[0].text == "added"
    assert parsed[-1].type == "response.completed"
    assert final.output_text == "worked on x "


@pytest.mark.parametrize("text", ["BOOM", "HALF", "REJECT"])
async def test_a_failure_names_its_reason(api, text):
    with pytest.raises(openai.APIStatusError) as failed:
        await ask(api, text)
    events = await events_of(api, text)
    assert failed.value.status_code in {400, 422}
    assert events[-1].type == "response.failed"
    reason = events[-1].response.error.message.partition(" Error id")[0]
    assert reason == failed.value.body["message"].partition(" Error id")[0]
    assert "secret" not in str(failed.value)


async def test_a_question_is_answered_by_the_response_after_it(api):
    asked = await ask(api, "ASK")
    answered = await ask(api, "Rome", previous_response_id=asked.id)
    fetched = [await api.responses.retrieve(each.id) for each in (asked, answered)]
    assert asked.output_text == fetched[0].output_text == "Which city?"
    assert answered.output_text.startswith("took Rome in ")
    assert fetched[1].output_text == answered.output_text
    assert answered.previous_response_id == asked.id


async def test_responses_of_a_conversation_share_a_context(api):
    first = await ask(api, "CONTEXT")
    second = await ask(api, "CONTEXT", previous_response_id=first.id)
    reply = await ask(api, "REPLY", previous_response_id=second.id)
    after_reply = await ask(api, "CONTEXT", previous_response_id=reply.id)
    other = await ask(api, "CONTEXT")
    with pytest.raises(openai.BadRequestError, match="not the latest response"):
        await ask(api, "x", previous_response_id=first.id)
    texts = {each.output_text for each in (first, second, after_reply)}
    assert len(texts) == 1
    assert other.output_text not in texts


async def test_a_conversation_and_its_question(api):
    conversation = await api.conversations.create()
    asked = await ask(api, "ASK", conversation=conversation.id)
    answered = await ask(api, "Rome", conversation={"id": conversation.id})
    with pytest.raises(openai.NotFoundError, match="create one with POST"):
        await ask(api, "x", conversation="conv_1")
    assert asked.output_text == "Which city?"
    assert answered.output_text == f"took Rome in {conversation.id}"
    assert answered.conversation.id == conversation.id


async def test_only_conversations_of_the_caller_are_shown():
    options = ServerOptions(authentication=BearerTokens({"s3cret-a": "alice", "s3cret-b": "bob"}))
    async with (
        serving(options=options) as url,
        client(url, "s3cret-a") as alice,
        client(url, "s3cret-b") as bob,
    ):
        new, used = await alice.conversations.create(), f"conv_{'a' * 32}"
        await ask(alice, "CONTEXT", conversation=used)
        assert (await alice.conversations.retrieve(new.id)).created_at == new.created_at
        assert (await alice.conversations.retrieve(used)).id == used
        for api, unknown in ((bob, new.id), (bob, used), (alice, f"conv_{'b' * 32}")):
            with pytest.raises(openai.NotFoundError, match="no such conversation"):
                await api.conversations.retrieve(unknown)


async def test_a_whole_history_continues_its_context(api):
    asked = await ask(api, "ASK")
    said = [{"role": "user", "content": "ASK"}, *asked.output]
    answered = await ask(api, [*said, {"role": "user", "content": "Rome"}])
    assert answered.output_text.startswith("took Rome in ")


async def test_items_that_a_client_refers_to_are_the_history(api):
    """Vercel's AI SDK sends the ids of earlier items in place of their text."""
    asked = await ask(api, "ASK")
    said = [{"role": "user", "content": "ASK"}]
    said += [{"type": "item_reference", "id": item.id} for item in asked.output]
    answered = await ask(api, [*said, {"role": "user", "content": "Rome"}])
    with pytest.raises(openai.NotFoundError, match="no item 'msg_x'"):
        await ask(api, [{"type": "item_reference", "id": "msg_x"}, *said])
    assert answered.output_text.startswith("took Rome in ")


async def test_unknown_responses_are_refused(api):
    for unknown in ("resp_x_1", "nothing", "resp_" + "0" * 32 + "_1"):
        with pytest.raises(openai.NotFoundError) as refused:
            await ask(api, "x", previous_response_id=unknown)
        with pytest.raises(openai.NotFoundError):
            await api.responses.retrieve(unknown)
    assert refused.value.code == "previous_response_not_found"


async def test_responses_belong_to_their_caller():
    options = ServerOptions(authentication=BearerTokens({"s3cret-a": "alice", "s3cret-b": "bob"}))
    async with (
        serving(options=options) as url,
        client(url, "s3cret-a") as alice,
        client(url, "s3cret-b") as bob,
    ):
        asked = await ask(alice, "ASK")
        for call in (
            ask(bob, "x", previous_response_id=asked.id),
            bob.responses.retrieve(asked.id),
            bob.responses.cancel(asked.id),
        ):
            with pytest.raises(openai.NotFoundError):
                await call
        conversation = await alice.conversations.create()
        secret = await ask(alice, "CONTEXT", conversation=conversation.id)
        assert (await ask(alice, "Rome", previous_response_id=asked.id)).output_text
        await ask(bob, "ASK", conversation=conversation.id)
        still = await ask(alice, "CONTEXT", conversation=conversation.id)
    assert secret.output_text == still.output_text


class Paced:
    """Sends a word on each signal."""

    def __init__(self):
        self.words = asyncio.Queue()

    async def answer(self, request):
        """Say words."""
        while word := await self.words.get():
            yield word


async def test_a_response_in_the_background_is_fetched_when_it_is_done():
    paced = Paced()
    async with calling(paced.answer) as api:
        begun = await ask(api, "x", background=True)
        assert begun.status in {"queued", "in_progress"}
        running = await api.responses.retrieve(begun.id)
        assert running.status in {"queued", "in_progress"}
        paced.words.put_nowait("word")
        paced.words.put_nowait("")
        stream = await api.responses.retrieve(begun.id, stream=True)
        events = [event async for event in stream]
        done = await api.responses.retrieve(begun.id)
    assert events[-1].response.output_text == done.output_text == "word"
    assert done.status == "completed"


async def test_a_stream_in_the_background_is_resumed_without_gaps_or_repeats():
    paced = Paced()
    words = ["one ", "two ", "three "]
    async with calling(paced.answer) as api:
        seen = []
        stream = await ask(api, "x", stream=True, background=True)
        paced.words.put_nowait(words[0])
        async for event in stream:
            seen.append(event)
            if event.type == "response.output_text.delta":
                break
        await stream.close()
        response_id = seen[0].response.id
        for word in [*words[1:], ""]:
            paced.words.put_nowait(word)
        rest = await resumed(api, response_id, seen[-1].sequence_number)
        again = await resumed(api, response_id, seen[-1].sequence_number)
        late = await resumed(api, response_id, rest[-2].sequence_number)
    assert text_in([*seen, *rest]) == text_in([*seen, *again]) == "".join(words)
    numbers = [event.sequence_number for event in [*seen, *rest]]
    assert numbers == sorted(set(numbers))
    assert [event.type for event in late] == ["response.completed"]
    assert rest[-1].response.output_text == "".join(words)


async def test_the_stream_of_a_stored_question_ends():
    async with calling() as api, asyncio.timeout(60):
        asked = await ask(api, "ASK")
        events = await resumed(api, asked.id, 0)
    assert events[-1].type == "response.completed"
    assert events[-1].response.output_text == "Which city?"


async def test_a_resumed_stream_is_closed_when_its_client_leaves():
    hanging = Hanging()
    async with calling(hanging.answer) as api, asyncio.timeout(60):
        begun = await ask(api, "x", background=True)
        await hanging.begun.wait()
        before = len(asyncio.all_tasks())
        for _ in range(5):
            stream = await api.responses.retrieve(begun.id, stream=True)
            await anext(stream)
            await stream.close()
        # One additional task may keep a connection alive.
        while len(asyncio.all_tasks()) > before + 1:  # noqa: ASYNC110 - nothing tells when one ends
            await asyncio.sleep(0.01)
        assert (await api.responses.retrieve(begun.id)).status == "in_progress"
        await api.responses.cancel(begun.id)
        assert await hanging.ends.get() is True


async def resumed(api, response_id, after):
    stream = await api.responses.retrieve(response_id, stream=True, starting_after=after)
    return [event async for event in stream]


async def test_a_response_in_the_background_is_cancelled():
    hanging = Hanging()
    async with calling(hanging.answer) as api:
        begun = await ask(api, "x", background=True)
        await hanging.begun.wait()
        cancelled = await api.responses.cancel(begun.id)
        assert await hanging.ends.get() is True
        fetched = await api.responses.retrieve(begun.id)
        again = await api.responses.cancel(begun.id)
        with pytest.raises(openai.BadRequestError, match="cannot be deleted"):
            await api.responses.delete(begun.id)
    assert {cancelled.status, fetched.status, again.status} == {"cancelled"}


async def test_a_client_that_leaves_cancels_the_run():
    hanging = Hanging()
    async with calling(hanging.answer) as api:
        stream = await ask(api, "x", stream=True)
        async for event in stream:
            if event.type == "response.output_text.delta":
                break
        await stream.close()
        assert await hanging.ends.get() is True


async def test_responses_are_there_after_a_restart(tmp_path):
    async def asking(request):
        if request.resuming:
            yield f"took {request.text}"
        else:
            yield InputRequired("Which city?", durable=True)

    options = ServerOptions(storage=f"sqlite:///{tmp_path}/a.db")
    async with calling(asking, options=options) as api:
        asked = await ask(api, "trip")
    async with calling(asking, options=options) as api:
        fetched = await api.responses.retrieve(asked.id)
        answered = await ask(api, "Rome", previous_response_id=asked.id)
    assert (fetched.output_text, answered.output_text) == ("Which city?", "took Rome")


async def test_unreported_usage_is_zero(api):
    usage = (await ask(api, "x")).usage
    assert TokenUsage(usage.input_tokens, usage.output_tokens, usage.total_tokens) == TokenUsage()


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"input": []}, "must be the user's"),
        ({"input": [{"type": "computer_call"}]}, "unsupported item"),
        ({"input": "x", "prompt": {"id": "p"}}, "stores no prompts"),
        ({"input": "x", "previous_response_id": "a", "conversation": "b"}, "not both"),
        ({"input": "x", "tool_choice": {"type": "file_search"}}, "cannot be forced"),
    ],
)
async def test_wrong_requests_are_refused(api, parameters, reason):
    with pytest.raises(openai.BadRequestError, match=reason):
        await api.responses.create(model="worker", **parameters)
