"""Recordings on disk: portions while they grow, and a data-set folder when they are finished."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from ucad._types import RegimeOf, VariableSamples
from ucad.data import InterventionalData
from ucad.data.context import Context
from ucad.data.formats.dcdi import DATA, REGIMES, SIDE, write_dcdi
from ucad.errors import FormatError, InvalidInputError
from ucad.files import check_regular, read_json, recover, replacing, reserve, write_text
from ucad.schema import Optional, check_shape

__all__ = [
    "ABOUT",
    "Kept",
    "Shelf",
    "finished",
    "is_growing",
    "keep_recording",
    "note_in_recording",
    "open_recording",
]

ABOUT, INPUT_OF = "recording.json", "input_of.npy"
_GROWING = "growing.json"
SCHEMA_VERSION = 1
"""Of the folder of a recording; a change that old readers would misread raises it."""
_STATE = {"identity": Optional({str: object}), "rows": Optional({str: int})}
_ABOUT = {"schema_version": int, "sites": [str], "dead": [str]}


@dataclass(frozen=True)
class Shelf:
    """Where values are put while they are recorded: into memory, or into a folder.

    Attributes:
        folder: None for memory.
        identity: what is being recorded, so that nothing else is gone on with.
    """

    folder: Path | None
    identity: Mapping[str, Any]

    @classmethod
    def of(cls, directory: str | Path | None, identity: Callable[[], Mapping[str, Any]]) -> Shelf:
        """A shelf that is empty, or one on which the same recording was begun before."""
        if directory is None:
            return cls(None, {})
        shelf = cls(Path(directory), json.loads(json.dumps(identity())))
        folder = shelf.folder
        assert folder is not None
        recover(folder / _GROWING)
        if not folder.exists() or not any(folder.iterdir()):
            folder.mkdir(parents=True, exist_ok=True)
            with shelf.left_if_any():
                shelf._write_state({})
        begun = next((f for f in (folder / ABOUT, folder / _GROWING) if f.exists()), None)
        if begun is None:
            raise InvalidInputError(f"'{folder}' holds something else than a recording.")
        state = read_json(begun)
        check_shape(state, _STATE, f"'{begun}' is damaged")
        before = state.get("identity", {})
        other = [name for name, value in shelf.identity.items() if before.get(name) != value]
        if other:
            raise InvalidInputError(
                f"'{folder}' holds a recording with other {', '.join(other)}. "
                "Choose another folder."
            )
        if shelf.is_finished:
            shelf.clear()  # killed after the last file was written, before the others were removed
        return shelf

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to record."""
        return self.folder is not None and (self.folder / ABOUT).exists()

    def array(self, name: str, shape: tuple[int, int], dtype: str) -> np.ndarray:
        """An array to fill; on disk the one that was begun before, if there is one."""
        if self.folder is None or 0 in shape:
            return np.empty(shape, dtype=dtype)
        path = self.folder / f"{name}.part.npy"
        with contextlib.suppress(OSError, ValueError):  # none yet, or one that was cut off
            begun = np.lib.format.open_memmap(path, mode="r+")
            if begun.shape == shape and begun.dtype == np.dtype(dtype):
                return begun
        self.mark(name, 0)
        made = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        reserve(path)
        return made

    @contextlib.contextmanager
    def left_if_any(self) -> Iterator[None]:
        """Whatever goes wrong, a folder stays only if something was recorded into it."""
        try:
            yield
        except BaseException:
            if self.folder is not None and not self.has_rows and not self.is_finished:
                self.clear()
                with contextlib.suppress(OSError):  # somebody else's files are in it
                    self.folder.rmdir()
            raise

    @property
    def has_rows(self) -> bool:
        """Whether a row of any array is finished."""
        if self.folder is None or not (self.folder / _GROWING).exists():
            return False
        return any(read_json(self.folder / _GROWING).get("rows", {}).values())

    def done(self, name: str) -> int:
        """How many rows of an array are finished."""
        if self.folder is None:
            return 0
        return int(read_json(self.folder / _GROWING).get("rows", {}).get(name, 0))

    def mark(self, name: str, rows: int) -> None:
        """Notes that an array is finished up to a row."""
        if self.folder is not None:
            state = read_json(self.folder / _GROWING).get("rows", {})
            self._write_state({**state, name: rows})

    def clear(self) -> None:
        """Removes what was only needed while the recording grew."""
        if self.folder is not None:
            for path in (*self.folder.glob("*.part.npy"), self.folder / _GROWING):
                path.unlink(missing_ok=True)

    def _write_state(self, rows: Mapping[str, int]) -> None:
        assert self.folder is not None
        state = {"format": "growing ucad recording", "identity": self.identity, "rows": rows}
        write_text(self.folder / _GROWING, json.dumps(state))


def is_growing(folder: Path) -> bool:
    """Whether a folder holds a part of a recording that can be resumed."""
    return Shelf(folder, {}).has_rows


def finished(values: np.ndarray) -> np.ndarray:
    """The array, on disk if it lives there, as one that nobody changes any more."""
    if isinstance(values, np.memmap):
        values.flush()
    plain = values.view(np.ndarray)
    plain.flags.writeable = False
    return plain


def keep_recording(
    shelf: Shelf,
    data: InterventionalData,
    input_of: Int[np.ndarray, " samples"],
    about: Mapping[str, Any],
) -> None:
    """Writes the finished folder: the data set, which input is which, and `recording.json`."""
    folder = shelf.folder
    assert folder is not None
    write_dcdi(data, folder)
    with replacing(folder / INPUT_OF) as beside, beside.open("wb") as file:
        np.save(file, input_of)
    whole = {"format": "ucad recording", "schema_version": SCHEMA_VERSION, **about}
    write_text(folder / ABOUT, json.dumps({**whole, "identity": shelf.identity}, indent=1))
    shelf.clear()


def note_in_recording(folder: Path, notes: Mapping[str, Any]) -> None:
    """Adds to `recording.json`, such as where the model came from."""
    about = read_json(folder / ABOUT)
    write_text(folder / ABOUT, json.dumps({**about, **notes}, indent=1))


class Kept(NamedTuple):
    """What a finished folder holds; the values are mapped, not loaded."""

    x: VariableSamples
    regime: RegimeOf
    regime_names: tuple[str, ...]
    input_of: Int[np.ndarray, " samples"]
    about: dict[str, Any]
    context: Context | None = None


def open_recording(folder: Path) -> Kept:
    """Reads a finished folder.

    Raises:
        FormatError: the folder is no recording, is damaged, or was written by a newer ucad.
    """
    if not (folder / ABOUT).exists():
        raise FormatError(f"'{folder}' is no finished recording: it has no {ABOUT}.")
    about = read_json(folder / ABOUT)
    check_shape(about, _ABOUT, f"'{folder / ABOUT}' is damaged")
    version = about["schema_version"]
    if version > SCHEMA_VERSION:
        raise FormatError(
            f"'{folder}' has recording schema {version}; this ucad reads up to {SCHEMA_VERSION}."
        )
    try:
        for name in (DATA, REGIMES, INPUT_OF):
            check_regular(folder / name)
        kept = Kept(
            x=np.load(folder / DATA, mmap_mode="r", allow_pickle=False).view(np.ndarray),
            regime=np.loadtxt(folder / REGIMES, dtype=np.int64, ndmin=1),
            regime_names=tuple(map(str, read_json(folder / SIDE)["regime_names"])),
            input_of=np.load(folder / INPUT_OF, allow_pickle=False),
            about=about,
            context=_context(read_json(folder / SIDE).get("context")),
        )
    except (OSError, ValueError, KeyError, TypeError, EOFError, OverflowError) as error:
        raise FormatError(
            f"'{folder}' is a damaged recording: {str(error).rstrip('.')}."
        ) from error
    shapes = {len(part) if part.ndim else -1 for part in (kept.x, kept.regime, kept.input_of)}
    if len(shapes) != 1 or kept.x.ndim != 2 or kept.input_of.dtype.kind not in "iu":
        raise FormatError(f"'{folder}' is a damaged recording: its files do not belong together.")
    if not 0 <= kept.regime.min(initial=0) <= kept.regime.max(initial=0) < len(kept.regime_names):
        raise FormatError(f"'{folder}' is a damaged recording: it has regimes without a name.")
    return kept


def _context(described: dict[str, Any] | None) -> Context | None:
    if described is None:
        return None
    return Context(tuple(map(str, described["names"])), np.array(described["values"], dtype=float))


def digest_of(tensors: Sequence[Tensor | np.ndarray]) -> str:
    """A digest of shapes, types and values."""
    digest = hashlib.sha256()
    for values in tensors:
        digest.update(f"{tuple(values.shape)}{values.dtype}".encode())
        if isinstance(values, Tensor):
            values = values.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
