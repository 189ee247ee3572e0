"""Files: written beside, synced and moved into place in one step; read only if they are files."""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import errno
import json
import logging
import math
import os
import re
import secrets
import shutil
import stat
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ucad.errors import FormatError, InvalidInputError, UcadError

__all__ = [
    "MAX_TEXT_BYTES",
    "check_regular",
    "finite",
    "finite_or_none",
    "parse_json",
    "read_json",
    "read_text",
    "read_toml",
    "recover",
    "replacing",
    "replacing_folder",
    "reserve",
    "resolved",
    "write_text",
]

MAX_TEXT_BYTES = 2**30
"""The largest text file that is read at once, in bytes: above this it is no file of ours, and
reading it would only fill the memory."""

_PART, _OLD = ".part", ".old"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
"""From Linux's `fcntl.h` and `fs.h`: paths as they are; swap two paths in one step."""

_logger = logging.getLogger(__name__)


def check_regular(path: Path) -> None:
    """Refuses what is not there or is no plain file: folders, pipes and devices never end."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise FormatError(f"'{path}' cannot be read: {error.strerror}.") from error
    except ValueError as error:  # a path with a null character in it
        raise FormatError(f"{str(path)!r} is no path: {error}.") from error
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise FormatError(f"'{path}' must be a file. Got {kind} instead.")


def resolved(path: Path) -> Path:
    """The path without links; links that lead back to themselves, and no paths, are refused."""
    try:
        return path.resolve()
    except (RuntimeError, OSError, ValueError) as error:
        reason = "its links lead in a circle" if isinstance(error, RuntimeError) else error
        raise InvalidInputError(f"{str(path)!r} cannot be used: {reason}.") from error


def read_text(path: Path) -> str:
    """Reads a UTF-8 text file, with or without a byte-order mark, or UTF-16 with one."""
    check_regular(path)
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise FormatError(f"'{path}' is too large to be read as text: over {MAX_TEXT_BYTES} bytes.")
    try:
        content = path.read_bytes()
        is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except OSError as error:
        raise FormatError(f"'{path}' cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise FormatError(
            f"'{path}' is not a text file in UTF-8: byte {error.start} is not. If it is text, save "
            f"it as UTF-8 (in Excel: 'CSV UTF-8')."
        ) from error


def parse_json(text: str | bytes, number: Callable[[str], float | None] | None = None) -> Any:
    """Reads JSON in which every number is finite; anything else is a ValueError.

    Args:
        text: the JSON.
        number: reads a number that is not whole; by default, what is not finite is refused.

    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    try:
        number = number or finite
        return json.loads(text, parse_constant=number, parse_float=number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json(
    path: Path, kind: type = dict, number: Callable[[str], float | None] | None = None
) -> Any:
    """Reads a JSON file that holds an object (or a list, if that is the kind)."""
    text = read_text(path)
    try:
        value = parse_json(text, number)
    except ValueError as error:
        raise FormatError(f"'{path}' is damaged, or not JSON: {error}.") from error
    if not isinstance(value, kind):
        wanted = "object" if kind is dict else kind.__name__
        raise FormatError(f"'{path}' must hold a JSON {wanted}. Got {_kind(value)} instead.")
    return value


def read_toml(path: Path) -> dict[str, Any]:
    """Reads a TOML file."""
    text = read_text(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise FormatError(f"'{path}' is not a TOML file: it is nested too deeply.") from None
    except ValueError as error:
        raise FormatError(f"'{path}' is not a TOML file: {error}.") from error


def write_text(path: Path, text: str) -> None:
    """Writes a text file as UTF-8, in one step."""
    with replacing(path) as beside:
        # A name with half a character in it (a file name can be such a one) is shown escaped.
        beside.write_bytes(text.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a path to write; what is there in the end takes the place of `path` in one step.

    Whatever goes wrong before that, `path` is as it was. A link stays, and what it points to is
    replaced. The permissions are those of the file before, or those that the umask leaves.
    """
    path = resolved(path)
    if path.exists() and not path.is_file():
        raise InvalidInputError(f"'{path}' exists and is no file: it is not overwritten.")
    with _workspace(path) as folder:
        beside = folder / path.name
        yield beside
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        _sync(beside)
        os.replace(beside, path)
        _sync(path.parent)


@contextlib.contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yields a new folder to fill, which in the end takes the place of `folder` in one step.

    At every moment `folder` is as it was or as it will be, also if the process is killed; where
    the system cannot swap two folders, `recover` brings the old one back.
    """
    folder = resolved(folder)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"'{folder}' exists and is no folder: it is not overwritten.")
    with _workspace(folder) as part:
        yield part
        for entry in sorted(part.rglob("*"), reverse=True):
            _sync(entry)
        _sync(part)
        if folder.exists():
            _swap(part, folder)
        else:
            part.rename(folder)
        _sync(folder.parent)


def reserve(path: Path) -> None:
    """Takes the room on the disk that a file with gaps will need.

    A mapped file ends the process, without a word, where its gaps find no room later.

    Raises:
        OSError: there is no room; the file is removed.
    """
    if not hasattr(os, "posix_fallocate"):
        return
    with path.open("r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, max(1, path.stat().st_size))
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):
                return  # a file system that cannot
            path.unlink()
            raise OSError(error.errno, error.strerror, str(path)) from error


def recover(path: Path) -> None:
    """Puts right what a killed process left at a path: brings the old folder back, clears parts.

    Only leftovers that no running process holds are touched. What was done is logged.
    """
    path = resolved(path)
    for old in _leftovers(path, _OLD):
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(path)
            _logger.warning("'%s' was being replaced when a process ended: recovered.", path)
    for part in _leftovers(path, _PART):
        shutil.rmtree(part, ignore_errors=True)
        _logger.info("Removed '%s', left by a process that ended early.", part)


def _leftovers(path: Path, ending: str) -> list[Path]:
    """The folders with our kind of name beside a path that no running process holds."""
    ours = re.compile(rf"{re.escape(_hidden(path))}\w{{8}}{re.escape(ending)}")
    with contextlib.suppress(OSError):
        found = [entry for entry in path.parent.iterdir() if ours.fullmatch(entry.name)]
        return [entry for entry in found if not _is_held(entry)]
    return []


@contextlib.contextmanager
def _workspace(path: Path) -> Iterator[Path]:
    """A new folder beside a path, gone in the end; held, so that `recover` leaves it alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    recover(path)
    part = path.with_name(f"{_hidden(path)}{secrets.token_hex(4)}{_PART}")
    try:
        part.mkdir()
        with _held(part):
            yield part
    except OSError as error:
        # A full disk does not say which file it was, and nobody knows the names beside it.
        if not isinstance(error, UcadError) and str(error.filename or part).startswith(str(part)):
            text = error.strerror or f"Not all of it could be written ({error})"
            error.errno = error.errno or errno.ENOSPC  # numpy: "so many requested, … written"
            error.strerror, error.filename = text, str(path)
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _hidden(path: Path) -> str:
    return f".{path.name}."


def _swap(part: Path, folder: Path) -> None:
    """Puts `part` where `folder` is; what was there is at `part` afterwards, or gone."""
    if _exchanged(part, folder):
        return
    old = part.with_suffix(_OLD)
    with _held(folder):
        folder.rename(old)
        try:
            part.rename(folder)
        except BaseException:
            if not folder.exists():
                old.rename(folder)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _exchanged(first: Path, second: Path) -> bool:
    """Swaps two paths in one step; False where the system cannot."""
    renameat2 = _renameat2()
    if renameat2 is None:
        return False
    names = (os.fsencode(first), os.fsencode(second))
    if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(second))


def _renameat2() -> Callable[..., int] | None:
    try:
        return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    except (OSError, TypeError):  # no C library to ask
        return None


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Holds a folder by a lock that the system lets go of even if we are killed."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _is_held(folder: Path) -> bool:
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # gone meanwhile, or no folder of ours
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _sync(path: Path) -> None:
    """Has the system write a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def finite(text: str) -> float:
    """A number of a JSON file; NaN and infinity are refused."""
    value = finite_or_none(text)
    if value is None:
        raise ValueError(f"{text} is not a finite number")
    return value


def finite_or_none(text: str) -> float | None:
    """A number of a JSON file; None for NaN and infinity."""
    value = float(text)
    return value if math.isfinite(value) else None


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "null"}.get(
        type(value), f"a {type(value).__name__}"
    )
