"""Shares of the sending threads: how many one workspace, and one host, may use at once.

So receivers that hang, however many one workspace has, leave threads for what others send.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from app.notifications.handler_queue import HandlerQueue, Receiver

MAX_THREADS = 512
WORKSPACE_THREADS = MAX_THREADS // 8
HOST_THREADS = MAX_THREADS // 4  # many workspaces send to the host of a large service


class Shares:
    """The threads that are in use, counted at one moment."""

    def __init__(self, queues: Iterable[HandlerQueue]) -> None:
        self.used = 0
        self.workspaces = Counter[int]()
        self.hosts = Counter[str]()
        for one in queues:
            self.use(one.receiver, one.threads)

    def use(self, receiver: Receiver, threads: int = 1) -> None:
        self.used += threads
        self.workspaces[receiver.workspace_id] += threads
        self.hosts[receiver.host] += threads

    def is_full(self, receiver: Receiver) -> bool:
        """Whether no thread may be started for this receiver.

        A workspace never uses more threads than are free, so that many slow ones still leave some.
        """
        most = min(WORKSPACE_THREADS, MAX_THREADS - self.used)
        return self.workspaces[receiver.workspace_id] >= most or self.hosts[receiver.host] >= HOST_THREADS
