"""Warnings about old names, which work until version 1.0."""

from __future__ import annotations

import warnings


def warn_renamed(old: str, new: str) -> None:
    """Called by the method with the old name; the warning points to its caller."""
    message = f"{old} is deprecated and will be removed in version 1.0; use {new}"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
