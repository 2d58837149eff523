"""Run a generator in a thread of its own while the caller works on what it gave last."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

T = TypeVar("T")

_POLL_SECONDS = 0.1


@contextlib.contextmanager
def run_ahead(items: Generator[T, None, None], name: str, depth: int = 1) -> Iterator[Iterator[T]]:
    """Give *items* in order, at most *depth* of them waiting; an error in them is raised here.

    Hashing, decompressing and array work release the interpreter, and so does the database: the
    two sides overlap. Leaving the context stops the thread, called *name*, once the item it is
    at is done, and closes *items* in it.
    """
    ready: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
    is_stopped = threading.Event()

    def offer(item: T | None, error: BaseException | None) -> bool:
        while not is_stopped.is_set():
            try:
                ready.put((item, error), timeout=_POLL_SECONDS)
            except queue.Full:
                continue
            return True
        return False

    def produce() -> None:
        try:
            with contextlib.closing(items):
                for item in items:
                    if not offer(item, None):
                        return
        except BaseException as error:  # noqa: BLE001 - raised again in the other thread
            offer(None, error)
        else:
            offer(None, _End())

    def taken() -> Iterator[T]:
        while True:
            item, error = ready.get()
            if isinstance(error, _End):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]  # an item where there is no error

    thread = threading.Thread(target=produce, name=name, daemon=True)
    thread.start()
    try:
        yield taken()
    finally:
        is_stopped.set()
        thread.join()


class _End(Exception):  # noqa: N818 - a mark, never raised
    """The items are used up."""
