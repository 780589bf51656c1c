"""The room for the files of a user, while two processes that share it are killed.

A third of `SURFACE_TRIES` is the number of kills.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.attack.storing import UNIT
from tests.attack.target import ANN, BOB
from tests.support.processes import PATIENCE, launched
from tests.support.requests import V1, rpc, say
from tests.support.warm import warm

KILLS = int(os.environ.get("SURFACE_TRIES", "3")) // 3
ROOM = 320 * UNIT
PART = 64 * UNIT
"""Size of the pieces of an upload."""
EXPIRY_SECONDS = 20
CLIENTS = 8
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


@dataclass
class Grant:
    """A file that was granted, or whose upload was.

    Attributes:
        size: Number of bytes that it counts.
        known_at: The time at which it was certainly counted.
        expires: The time until which it is.
    """

    size: int
    known_at: float
    expires: int


class Attack:
    """Clients of one user that fill the room, whatever happens to the servers.

    Args:
        folder: The place of the files.
        chance: Decides what they do.
    """

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.urls: list[str] = []
        self.grants: list[Grant] = []
        self.refused = self.tries = self.worst = 0
        self._folder = folder
        self._chance = chance

    async def go_on(self, http: httpx.AsyncClient) -> None:
        """Do one thing after the other."""
        while True:
            self.tries += 1
            kind = self._chance.choice(["reserve", "upload", "upload", "add", "fail", "hang"])
            try:
                await getattr(self, f"_{kind}")(http, self._chance.choice(self.urls))
            except httpx.TransportError:
                await asyncio.sleep(0.05)  # its server was killed
            self._weigh()

    async def _reserve(self, http: httpx.AsyncClient, url: str, units: int = 0) -> dict | None:
        size = (units or self._chance.randint(1, 9)) * UNIT
        answer = await http.post(f"{url}/files", json={"size": size})
        if answer.status_code == 413:
            self.refused += 1
            return None
        assert answer.status_code in (201, 503), answer.text
        if answer.status_code == 503:
            return None
        self._granted(answer.json()["url"], size)
        return {**answer.json(), "size": size}

    async def _upload(self, http: httpx.AsyncClient, url: str) -> None:
        links = await self._reserve(http, url, self._chance.choice([2, 5, 2 * PART // UNIT + 3]))
        if links is None:
            return

        async def put(number: int, start: int) -> None:
            length = min(PART, links["size"] - start)
            path = links["upload"].replace("{part}", str(number))
            answer = await http.put(path, content=b"x" * length)
            assert answer.status_code in (204, 503), answer.text

        starts = range(0, links["size"], PART)
        await asyncio.gather(*[put(number, start) for number, start in enumerate(starts)])

    async def _add(self, http: httpx.AsyncClient, url: str) -> None:
        units = self._chance.randint(1, 9)
        asked = rpc("SendMessage", say(f"add {units}", messageId=f"m{self._chance.random()}"))
        task = (await http.post(url, json=asked)).json()["result"]["task"]
        if task["status"]["state"] == "TASK_STATE_COMPLETED":
            self._granted(task["artifacts"][0]["parts"][0]["url"], units * UNIT)
        else:
            assert "together" in str(task["status"]) or "at the moment" in str(task["status"])
            self.refused += 1

    async def _fail(self, http: httpx.AsyncClient, url: str) -> None:
        asked = rpc("SendMessage", say("fail 5", messageId=f"m{self._chance.random()}"))
        text = (await http.post(url, json=asked)).text
        assert "TASK_STATE_FAILED" in text or "TASK_STATE_REJECTED" in text

    async def _hang(self, http: httpx.AsyncClient, url: str) -> None:
        asked = rpc("SendMessage", say("hang 5", messageId=f"m{self._chance.random()}"))
        asked["params"]["configuration"] = {"returnImmediately": True}
        task = (await http.post(url, json=asked)).json()["result"]["task"]
        await asyncio.sleep(self._chance.uniform(0, 0.02))
        await http.post(url, json=rpc("CancelTask", {"id": task["id"]}))

    def _granted(self, link: str, size: int) -> None:
        expires = int(httpx.URL(link).path.split("/")[2].split(".")[1])
        now = time.time()
        self.grants.append(Grant(size, now, expires))
        room = sum(each.size for each in self.grants if each.known_at <= now < each.expires)
        assert room <= ROOM

    def _weigh(self) -> None:
        """Compare the files that have not expired with the room."""
        now, size = time.time(), 0
        for file in self._folder.glob("*/*.*/[0-9]*"):
            # A file with `#` is not complete: another one may take its place.
            if "#" not in file.name and int(file.parent.name.split(".")[0]) > now:
                with suppress(FileNotFoundError):
                    size += file.stat().st_size
        self.worst = max(self.worst, size)
        assert size <= ROOM


async def until(condition) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.05)


async def test_the_room_of_a_user_with_kills_in_the_midst(tmp_path):
    chance = random.Random(1)
    command = warm("-m", "tests.attack.storing", str(tmp_path), str(ROOM), str(EXPIRY_SECONDS))
    attack, servers = Attack(tmp_path, chance), []
    headers = {**V1, "Authorization": f"Bearer {ANN}"}

    async def start() -> None:
        server, url = await asyncio.to_thread(stack.enter_context, launched(command))
        servers.append(server)
        attack.urls.append(url)

    async def kill() -> None:
        server = servers.pop(0)
        del attack.urls[0]
        server.send_signal(signal.SIGKILL)
        await asyncio.to_thread(server.ended)

    async def is_free() -> bool:
        asked = await http.post(f"{attack.urls[0]}/files", json={"size": ROOM})
        return asked.status_code == 201

    async def is_tidy() -> bool:
        return not any(folder.exists() for folder in expired)

    with ExitStack() as stack:
        async with httpx.AsyncClient(headers=headers, timeout=60, trust_env=False) as http:
            await asyncio.gather(start(), start())
            clients = [asyncio.create_task(attack.go_on(http)) for _ in range(CLIENTS)]
            for _ in range(KILLS):
                goal = attack.tries + 60
                while attack.tries < goal:
                    done, _ = await asyncio.wait(clients, timeout=0.01)
                    for each in done:
                        each.result()
                await kill()
                await start()
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
            await until(is_free)
            assert not await is_free()
            expired = [
                folder
                for folder in tmp_path.glob("*/*.*")
                if int(folder.name.split(".")[0]) <= time.time()
            ]
            await kill()
            await start()  # with its first file it deletes what has expired
            bob = {"Authorization": f"Bearer {BOB}"}
            asked = await http.post(f"{attack.urls[1]}/files", json={"size": ROOM}, headers=bob)
            assert asked.status_code == 201
            await until(is_tidy)
    assert attack.refused
    print(  # noqa: T201 - for the table of docs/security.md
        f"files of one user at two processes, killed {KILLS} times: {attack.tries} tries, "
        f"{attack.refused} without room, at most {attack.worst:,} of {ROOM:,} bytes stored"
    )
