"""Shows how the work goes: with tqdm, where it is installed, or to a function of the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Progress = bool | Callable[[str, float], None] | None
"""None: a bar of tqdm's if it is installed and standard error is a terminal; True: in any case; False: none; or a
function that is told the name of the running phase and which part of it is done, from 0 to 1."""


class Listener:
    """Is told of the command's events."""

    def __init__(self, progress: Progress) -> None:
        self.tell = progress if callable(progress) else None
        self.make: Callable[..., Any] | None = None
        self.bar: Any = None
        self.disable: bool | None = False if progress is True else None
        if progress is True or progress is None:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                if progress is True:
                    raise
            else:
                self.make = tqdm

    def event(self, event: dict[str, Any]) -> None:
        phase = str(event["name"])
        if "seconds" in event:
            part = 1.0
        else:
            part = event.get("done", 0) / max(event.get("total", 1), 1)
        if self.tell is not None:
            self.tell(phase, part)
        if self.make is not None:
            if self.bar is None:
                self.bar = self.make(total=1.0, leave=False, disable=self.disable, bar_format="{desc:<16}{bar} {elapsed}")
            self.bar.set_description_str(phase, refresh=False)
            self.bar.n = part
            self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
