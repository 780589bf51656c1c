"""Two users ask an agent, which calls another agent on behalf of each of them.

    pip install 'a2a-adapters[jwt,oauth]'
    python examples/on_behalf_of/two_users.py

    Ann, Ben  ->  planner  ->  calendar
                    |  token exchange (RFC 8693)
                    v
               authorization server

The calendar gets a token for itself, with one scope of the user's token. It sees the user as its
caller and the planner as the actor, and does not accept the tokens that the users sent to the
planner. No network is needed.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from agents import calendar_app, planner_app
from login import Login

from a2a_adapters import RemoteAgent, RemoteAuthError
from a2a_adapters.testing import running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EXPECTED = {
    "ann": "ann: dentist at 9 (calendar.read, read through planner)",
    "ben": "ben: flight at 11 (calendar.read, read through planner)",
}


async def main() -> None:
    login = Login()
    async with served(login) as (planner, calendar):
        tokens = {user: token_of(login, user) for user in EXPECTED}
        users = [*EXPECTED] * 3
        days = await asyncio.gather(*(day(planner, tokens[user]) for user in users))
        print(*days[:2], sep="\n")
        assert days == [EXPECTED[user] for user in users]
        assert login.exchanges == len(EXPECTED)
        await check_refusal(calendar, tokens["ann"])


@asynccontextmanager
async def served(login: Login) -> AsyncIterator[tuple[RemoteAgent, RemoteAgent]]:
    """Run the authorization server and the agents; yield the planner and the calendar."""
    async with AsyncExitStack() as stack:
        login.url = await stack.enter_async_context(running(login.app))
        there = await stack.enter_async_context(running(calendar_app(login.url)))
        calendar = await stack.enter_async_context(RemoteAgent(there))
        here = await stack.enter_async_context(running(planner_app(login.url, calendar)))
        yield await stack.enter_async_context(RemoteAgent(here)), calendar


def token_of(login: Login, user: str) -> str:
    """Return the token that a user sends to the planner."""
    return login.token(user, "planner", "calendar.read calendar.write")


async def day(planner: RemoteAgent, token: str) -> str:
    """Ask the planner as a user."""
    return (await planner.as_user(token).send("What is on today?")).text


async def check_refusal(calendar: RemoteAgent, token: str) -> None:
    """Check that the calendar refuses the token that a user sent to the planner."""
    try:
        await calendar.as_user(token).send("today")
    except RemoteAuthError as error:
        print(f"without an exchange: {error}")
    else:
        raise AssertionError("the calendar accepts tokens for the planner")


if __name__ == "__main__":
    asyncio.run(main())
