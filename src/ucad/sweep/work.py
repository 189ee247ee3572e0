"""What a worker does with a task, the same on every backend; importing it costs nothing."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ucad.errors import InvalidInputError

__all__ = ["ONE_THREAD", "Reply", "execute", "reply_to", "resolve"]

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
ABOUT = "about"


class Reply(NamedTuple):
    """What comes back: a result or an error, and what depends on the machine."""

    result: dict[str, Any] | None
    error: str | None
    about: dict[str, Any]


def resolve(reference: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """The function that `package.module:name` names.

    >>> resolve("json:dumps")({"a": 1})
    '{"a": 1}'
    """
    module, colon, name = reference.partition(":")
    try:
        function = getattr(importlib.import_module(module), name) if module and colon else None
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"There is no function '{reference}': {error}.") from error
    if not callable(function):
        raise InvalidInputError(
            f"The 'function' must be written package.module:name. Got '{reference}' instead."
        )
    return function


def execute(reference: str, task: Mapping[str, Any]) -> Reply:
    """Does one task in a process of its own, on one thread."""
    os.environ.update(ONE_THREAD)
    return reply_to(reference, task, prepare=_limit_threads)


def reply_to(
    reference: str, task: Mapping[str, Any], prepare: Callable[[], None] | None = None
) -> Reply:
    """Does one task; an exception becomes a reply with its text.

    A mapping under `about` in what the function returns goes where machine-dependent values go.

    Args:
        reference: the function, `package.module:name`.
        task: what it is given.
        prepare: called once the function's module is imported.
    """
    started = time.monotonic()
    result, error, about = None, None, {}
    try:
        function = resolve(reference)
        if prepare is not None:
            prepare()
        returned = dict(function(task))
        # What is compared between machines is what a reader of the table gets.
        about = dict(_written(returned.pop(ABOUT, {})))
        result = dict(_written(returned))
    except Exception as failure:  # noqa: BLE001  (one fit's failure is a row, not the sweep's end)
        result, about = None, {}
        error = f"{type(failure).__name__}: {failure}".encode("utf-8", "replace").decode()
    about |= {"seconds": time.monotonic() - started, "host": platform.node()}
    return Reply(result, error, about)


def _written(value: Any) -> Any:
    """The value as a table holds it; what a table cannot hold is an error of the task."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return json.loads(text.encode())


def _limit_threads() -> None:
    from threadpoolctl import threadpool_limits

    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    threadpool_limits(limits=1)
