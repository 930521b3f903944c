"""A progress bar for calls that send several batches: shown in a terminal if tqdm is installed."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Optional, Type


class ProgressBar:
    """Counts records. ``shown`` None shows the bar only in a terminal; without tqdm nothing is shown."""

    def __init__(self, total: int, shown: Optional[bool]) -> None:
        self._bar: Any = None
        wanted = sys.stderr is not None and sys.stderr.isatty() if shown is None else shown
        if wanted:
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self._bar = tqdm(total=total, unit=" records", desc="upsert")

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def add(self, count: int) -> None:
        if self._bar is not None:
            self._bar.update(count)
