"""One call of training: its seed, who is told, how long it may take, and the file it keeps."""

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

from ucad._types import Progress, ProgressEvent
from ucad.solvers.budget import Budget
from ucad.solvers.gradient.state import TrainingState

__all__ = ["Checkpoint", "Run"]

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
        """Writes a state beside the file and moves it into place, so that no half file is left."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f"{self.path.name}.part")
        tensors, record = state.tensors(), json.dumps(state.record())
        about = {"record": record, "digest": _digest(tensors, record), **self.belongs_to}
        save_file(tensors, beside, metadata=about)
        os.replace(beside, self.path)

    def load(self, like: TrainingState) -> TrainingState:
        """Reads the state back; loading runs no code.

        Args:
            like: the state at the start of the same fit.

        Raises:
            _UnusableError: if the file is damaged or belongs to another fit.
        """
        try:
            with safe_open(self.path, framework="pt") as file:
                about = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise _UnusableError("it cannot be read") from error
        others = [name for name, digest in self.belongs_to.items() if about.get(name) != digest]
        if others:
            raise _UnusableError(f"it belongs to a fit with other {' and '.join(others)}")
        record = about.get("record", "")
        if (
            about.get("digest") != _digest(tensors, record)
            or tensors.keys() != like.tensors().keys()
        ):
            raise _UnusableError("it is damaged")
        device = like.values.device
        placed = {n: v if n == "noise" else v.to(device) for n, v in tensors.items()}
        return TrainingState.from_tensors(placed, json.loads(record))

    def set_aside(self) -> Path:
        """Renames the file to `<name>.stale`, so that nothing is lost and nothing is in the way."""
        stale = self.path.with_name(f"{self.path.name}.stale")
        os.replace(self.path, stale)
        return stale


@dataclass(frozen=True)
class Run:
    """What belongs to one call rather than to the settings.

    Attributes:
        seed: random seed of the noise and the batches.
        progress: called after every look at the validation data.
        stage: what the progress report calls this.
        checkpoint: the file that keeps the state, if any.
        budget: how long the whole fit may take.
    """

    seed: int
    progress: Progress | None = None
    stage: str = "training"
    checkpoint: Checkpoint | None = None
    budget: Budget = field(default_factory=Budget)

    def resumed(self, start: TrainingState) -> tuple[TrainingState, str]:
        """Returns the state to begin with, that of an earlier run if there is one, and a note.

        A checkpoint that is damaged or belongs to another fit is set aside; the note, the log and
        the progress report say so.
        """
        if self.checkpoint is None or not self.checkpoint.path.exists():
            return start, ""
        try:
            state = self.checkpoint.load(like=start)
        except _UnusableError as error:
            note = (
                f"The checkpoint '{self.checkpoint.path}' was not used, since {error}. It is now "
                f"'{self.checkpoint.set_aside().name}', and training started from the beginning."
            )
            logger.warning(note)
            if self.progress is not None:
                self.progress(ProgressEvent(self.stage, 0, message=note))
            return start, note
        return state, f"Training was resumed after {state.epoch} epochs."

    def save(self, state: TrainingState) -> None:
        """Writes the state, if it is kept anywhere."""
        if self.checkpoint is not None:
            self.checkpoint.save(state)


class _UnusableError(Exception):
    """Why a checkpoint cannot be used, as the end of a sentence."""


def _digest(tensors: Mapping[str, Tensor], record: str) -> str:
    """Tells a whole file from a damaged one."""
    digest = hashlib.sha256(record.encode())
    for name, value in sorted(tensors.items()):
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
