"""What one owner may take is what they take at all processes together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from a2a_adapters.protocol.errors import ServerBusyError
from tests.replicas.test_shared import ANN, BOB, LIMITS, WORKING, Replica, until
from tests.storage.postgresql import new_database
from tests.storage.test_messages import message

LARGE = "large ".ljust(80_000, ".")
FEW = replace(LIMITS, running_bytes=200_000, lease_seconds=4)


async def test_an_owner_who_takes_much_at_one_process_gets_less_at_another():
    url = new_database()
    async with (
        Replica(url, limits=FEW).running() as one,
        Replica(url, limits=FEW).running() as other,
    ):
        await one.begin(LARGE)
        numbers = iter(range(1000))

        async def begun(caller):
            request = message(LARGE, message_id=f"message-{caller.user.user_name}-{next(numbers)}")
            request.configuration.return_immediately = True
            return await other.runtime.on_message_send(request, caller)

        async def known():
            return other.runtime._live.room.others

        await until(known, lambda others: "ann" in others)
        with pytest.raises(ServerBusyError):
            await begun(ANN)
        assert (await begun(BOB)).status.state == WORKING
        one.say("end")
        await until(known, lambda others: "ann" not in others)
        assert (await begun(ANN)).status.state == WORKING
        other.say("end", "end")
