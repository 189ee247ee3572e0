"""Unsupervised causal abstraction discovery: find the small causal model inside a big one."""

from __future__ import annotations

__version__ = "0.1.0"
