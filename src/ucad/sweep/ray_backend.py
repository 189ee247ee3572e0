"""Tasks on a Ray cluster, started on this machine or joined by address."""

from __future__ import annotations

import logging
import os
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from ucad.errors import MissingDependencyError
from ucad.sweep.backends import Outcome
from ucad.sweep.work import ONE_THREAD, execute

__all__ = ["RayCluster"]


class RayCluster:
    """Ray core tasks, one CPU and one thread each.

    Every machine of the cluster needs ucad installed; a cluster that is started here sees what
    this process sees.

    Args:
        n_workers: tasks at a time; as many as the cluster has CPUs if None.
        address: a cluster to join, such as `ray://head:10001` or `auto`; None starts one.
    """

    def __init__(self, n_workers: int | None = None, *, address: str | None = None) -> None:
        self._n_workers, self._address = n_workers, address
        self._tickets: dict[Any, int] = {}
        self._ray: Any = None
        self._task: Any = None

    @property
    def capacity(self) -> int:
        """As many as asked for, else the CPUs of the cluster."""
        if self._n_workers is not None or self._ray is None:
            return self._n_workers or 1
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def __enter__(self) -> RayCluster:
        self._ray = ray = _import_ray(throw_away=self._address is None)
        if self._address is None:
            path = os.pathsep.join(entry for entry in sys.path if entry)
            ray.init(
                address="local",  # and not a cluster that happens to run on this machine
                num_cpus=self._n_workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={
                    "env_vars": {**ONE_THREAD, "PYTHONPATH": path},
                    # Ray hands this to a shell as it is: a space in it would keep workers from
                    # ever starting, and Ray waiting for them.
                    "py_executable": shlex.quote(sys.executable),
                },
            )
        else:
            ray.init(
                address=self._address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": ONE_THREAD},
            )
        self._task = ray.remote(execute).options(num_cpus=1, max_retries=0)
        return self

    def __exit__(self, *_error: object) -> None:
        for reference in self._tickets:
            self._ray.cancel(reference, force=True)
        self._tickets.clear()
        self._ray.shutdown()

    def start(self, ticket: int, function: str, task: Mapping[str, Any]) -> None:
        """Hands a task to the cluster."""
        self._tickets[self._task.remote(function, dict(task))] = ticket

    def finished(self, timeout: float | None) -> list[Outcome]:
        """Waits for a reply, or for word that a worker died."""
        ready, _ = self._ray.wait(list(self._tickets), num_returns=1, timeout=timeout)
        return [self._collect(reference) for reference in ready]

    def cancel(self, ticket: int) -> None:
        """Ends the process that works on a task."""
        for reference in [r for r, number in self._tickets.items() if number == ticket]:
            self._ray.cancel(reference, force=True)
            del self._tickets[reference]

    def _collect(self, reference: Any) -> Outcome:
        ticket = self._tickets.pop(reference)
        try:
            return Outcome(ticket, self._ray.get(reference))
        except self._ray.exceptions.RayError as error:
            return Outcome(ticket, None, f"{type(error).__name__}: {error}")


def _import_ray(*, throw_away: bool) -> Any:
    """Ray, told to keep to itself; a cluster of our own needs no token in the home folder."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if throw_away:
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    # Or else Ray warns that a future version will no longer hide GPUs from tasks that want none.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError("ray", "ray", "A sweep on a cluster") from error
    return ray
