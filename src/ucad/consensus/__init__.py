"""How many factors there are, and which of them come back in fits on other samples."""

from __future__ import annotations
