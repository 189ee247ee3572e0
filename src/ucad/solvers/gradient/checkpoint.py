"""The file that keeps the state of training, and says which fit it belongs to."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ucad.files import replacing
from ucad.solvers.gradient.state import TrainingState

__all__ = ["Checkpoint"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """A file that holds the state of training, and says which fit it belongs to.

    Attributes:
        path: where it is.
        belongs_to: a digest of each thing that the result depends on, by name: data, settings, …
    """

    path: Path
    belongs_to: Mapping[str, str] = field(default_factory=dict)

    def save(self, state: TrainingState) -> None:
        """Writes a state, in one step."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        tensors, record = state.tensors(), json.dumps(state.record())
        about = {"record": record, "digest": _digest(tensors, record), **self.belongs_to}
        with replacing(self.path) as beside:
            save_file(tensors, beside, metadata=about)

    def resume(self, start: TrainingState) -> tuple[TrainingState, str]:
        """Returns the state to begin with, that of an earlier run if there is one, and a note.

        A file that is damaged or belongs to another fit is renamed to `<name>.stale`, so that
        nothing is lost and nothing is in the way; the note and the log say so.
        """
        if not self.path.exists():
            return start, ""
        try:
            state = self._load(start)
        except _UnusableError as error:
            stale = self.path.with_name(f"{self.path.name}.stale")
            os.replace(self.path, stale)
            note = (
                f"The checkpoint '{self.path}' was not used, since {error}. It is now "
                f"'{stale.name}', and training started from the beginning."
            )
            logger.warning(note)
            return start, note
        note = f"Training was resumed after {state.epoch} epochs."
        logger.info(note)
        return state, note

    def _load(self, start: TrainingState) -> TrainingState:
        """Reads the state back; loading runs no code."""
        try:
            with safe_open(self.path, framework="pt") as file:
                about = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise _UnusableError("it cannot be read") from error
        others = [name for name, digest in self.belongs_to.items() if about.get(name) != digest]
        if others:
            raise _UnusableError(f"it belongs to a fit with other {' and '.join(others)}")
        record, wanted = about.get("record", ""), start.tensors()
        if about.get("digest") != _digest(tensors, record) or tensors.keys() != wanted.keys():
            raise _UnusableError("it is damaged")
        placed = {name: value.to(wanted[name].device) for name, value in tensors.items()}
        return start.resumed(placed, json.loads(record))


class _UnusableError(Exception):
    """Why a checkpoint cannot be used, as the end of a sentence."""


def _digest(tensors: Mapping[str, Tensor], record: str) -> str:
    """Tells a whole file from a damaged one."""
    digest = hashlib.sha256(record.encode())
    for name, value in sorted(tensors.items()):
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
