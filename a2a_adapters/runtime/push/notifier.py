"""Connects tasks with their push receivers."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from a2a.server.context import ServerCallContext
from a2a.utils.errors import TaskNotFoundError

from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.runtime.admission import speaks_v03
from a2a_adapters.runtime.push.configs import PushConfigs
from a2a_adapters.runtime.push.delivery import Outbox
from a2a_adapters.runtime.push.receiver import PendingDeliveries, Receiver

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Awaitable, Callable

    from a2a.types import SendMessageRequest, TaskPushNotificationConfig

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.push import PushOptions
    from a2a_adapters.runtime.push.configs import Target
    from a2a_adapters.runtime.run import Run
    from a2a_adapters.storage.interface import AgentStorage, Undelivered

logger = logging.getLogger(__name__)


class PushNotifier:
    """The push notifications of one runtime; `counts` counts their outcomes."""

    def __init__(self, options: PushOptions, storage: AgentStorage, counts: Counter[str]) -> None:
        self._options = options
        self._configs = PushConfigs(options.store or storage.push_configs, options)
        self._stores_apart = options.store is not None
        """Whether configs are not stored with the tasks."""
        self._pending = PendingDeliveries(storage)
        self._outbox = Outbox(options, counts)
        # Also holds those of terminal tasks while they have something to send.
        self._receivers: WeakValueDictionary[tuple[str, str], Receiver] = WeakValueDictionary()

    async def begin(
        self, live: LiveTask, params: SendMessageRequest, context: ServerCallContext
    ) -> None:
        """Add the receiver in the first message of a task; both are stored together.

        Raises:
            InvalidParamsError: The config is not allowed.
        """
        given = params.configuration
        if self._stores_apart or not given.HasField("task_push_notification_config"):
            return
        assert live.draft is not None  # noqa: S101 - the message begins the task
        config, is_v03 = given.task_push_notification_config, speaks_v03(context)
        target = await self._configs.check(live.task_id, config, is_v03=is_v03)
        live.draft.config = target.to_stored()
        self._add(live, target, knows_task=True)

    async def follow(
        self, live: LiveTask, params: SendMessageRequest, context: ServerCallContext
    ) -> str:
        """Store the receiver in a message, unless it was stored with its task.

        Returns:
            The config's id if it is new to the task, else "".

        Raises:
            InvalidParamsError: The config is not allowed, or the task has too many.
        """
        given = params.configuration
        is_stored = live.draft is not None and live.draft.config is not None
        if is_stored or not given.HasField("task_push_notification_config"):
            return ""
        known = set(live.receivers)
        config = given.task_push_notification_config
        target, _ = await self._set(live, config, context, in_message=True)
        return "" if target.config.id in known else target.config.id

    async def set(
        self, live: LiveTask, config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Add a receiver to a task, or change the one with the same id.

        A settled task is sent at once, as to a subscriber: it may never change again.

        Raises:
            InvalidParamsError: The config is not allowed, or the task has too many.
        """
        target, receiver = await self._set(live, config, context, in_message=False)
        if live.state in states.SETTLED and not receiver.has_taken(0):
            receiver.send_task(live)
        return target.config

    async def _set(
        self,
        live: LiveTask,
        config: TaskPushNotificationConfig,
        context: ServerCallContext,
        *,
        in_message: bool,
    ) -> tuple[Target, Receiver]:
        target = await self._configs.set(
            live.task_id, config, context, is_v03=speaks_v03(context), in_message=in_message
        )
        before = self._receivers.get((live.task_id, target.config.id))
        if before is not None and before.target.is_same(target) and not before.is_closed:
            live.receivers[target.config.id] = before
            return target, before
        was_sending = before is not None and before.leave(target.config.id)
        receiver = self._add(live, target, knows_task=live.task is None)
        if before is not None and was_sending:
            receiver.send_task(live, before.owed_version)
        return target, receiver

    async def get(
        self, task_id: str, config_id: str, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return one config of a task.

        Raises:
            TaskNotFoundError: There is no such config (A2A 1.0, section 3.1.8).
        """
        found = {
            target.config.id: target.config for target in await self._configs.of(task_id, context)
        }
        if config_id not in found:
            raise TaskNotFoundError(f"Task {task_id} has no such push notification config")
        return found[config_id]

    async def list(
        self, task_id: str, context: ServerCallContext
    ) -> list[TaskPushNotificationConfig]:
        """Return all configs of a task."""
        return [target.config for target in await self._configs.of(task_id, context)]

    async def delete(self, live: LiveTask, config_id: str, context: ServerCallContext) -> None:
        """Remove a receiver; it need not exist (A2A 1.0, section 3.1.10)."""
        await self._configs.delete(live.task_id, context, config_id)
        live.receivers.pop(config_id, None)
        if receiver := self._receivers.pop((live.task_id, config_id), None):
            receiver.leave(config_id)

    async def attach(self, live: LiveTask) -> None:
        """Restore the receivers of a loaded task.

        Raises:
            StorageUnavailableError: They could not be read in time.
        """
        try:
            for target in await self._configs.of_all(live.task_id):
                self._join(live, target)
        except StorageUnavailableError:  # else later states would never be delivered
            raise
        except Exception:  # the task matters more than its receivers
            logger.exception("the receivers of task %s could not be loaded", live.task_id)

    async def resume(self, find: Callable[[str, ServerCallContext], Awaitable[LiveTask]]) -> None:
        """Resume the deliveries of dead processes, and those that were put off.

        Raises:
            StorageUnavailableError: The storage did not answer in time.
        """
        due = await self._pending.due()
        for number, item in enumerate(due):
            try:
                await self._resume(item, find)
            except BaseException:
                self._pending.put_off([*due[number + 1 :], item])
                raise

    async def _resume(
        self, item: Undelivered, find: Callable[[str, ServerCallContext], Awaitable[LiveTask]]
    ) -> None:
        targets = {t.config.id: t for t in await self._configs.of_all(item.task_id)}
        with suppress(TaskNotFoundError):
            live = await find(item.task_id, ServerCallContext(user=Owner(item.owner)))
            if item.config_id in targets:
                # All of them: identical targets share one receiver.
                receivers = {name: self._join(live, target) for name, target in targets.items()}
                receiver = receivers[item.config_id]
                if not receiver.has_taken(item.version):
                    receiver.send_task(live, item.version)
                if not receiver.is_closed:
                    return
        await self._pending.settle(item)

    async def during(
        self, execution: Awaitable[None], run: Run, given: str, context: ServerCallContext
    ) -> None:
        """Await the run of a message; if it is refused, forget the config that came with it.

        Args:
            execution: Executes the run.
            run: The run; if it makes no task, all configs are forgotten.
            given: The id of the new config, or "".
            context: The caller's.
        """
        live = run.live
        try:
            await execution
        finally:
            if live.task is None:
                if self._stores_apart:  # else they are deleted with the message
                    await self._forget(live, context)
            elif given and run.is_refused:
                await self._forget(live, context, given)

    async def _forget(
        self, live: LiveTask, context: ServerCallContext, config_id: str | None = None
    ) -> None:
        try:
            if config_id is None:
                await self._configs.delete(live.task_id, context)
            else:
                await self.delete(live, config_id, context)
        except Exception:  # it must not fail the run
            logger.exception("the receivers of task %s could not be forgotten", live.task_id)

    def _join(self, live: LiveTask, target: Target) -> Receiver:
        """Return a task's earlier receiver if that still has something to send."""
        known = self._receivers.get((live.task_id, target.config.id))
        if known is None:
            return self._add(live, target, knows_task=False)
        live.receivers[target.config.id] = known
        return known

    def _add(self, live: LiveTask, target: Target, *, knows_task: bool) -> Receiver:
        for config_id in live.receivers:
            known = self._receivers.get((live.task_id, config_id))
            if known is not None and known.target.is_same(target) and not known.is_closed:
                known.config_ids.add(target.config.id)
                receiver = known
                break
        else:
            place = self._outbox, self._pending, self._options
            receiver = Receiver(target, *place, knows_task=knows_task)
        live.receivers[target.config.id] = receiver
        self._receivers[live.task_id, target.config.id] = receiver
        return receiver

    async def aclose(self, seconds: float) -> None:
        """Wait for notifications under way, then drop them."""
        await self._outbox.aclose(seconds)
