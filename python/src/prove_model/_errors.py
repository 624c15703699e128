"""What goes wrong, with the whole text that the command gives."""

from __future__ import annotations

from typing import Any


class ProveModelError(Exception):
    """A model, an input or an option is not accepted, or something cannot be read or written. The text is the command's,
    which names every offending node or field. ``hint`` is what to do about it, "" if the command knows nothing better.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.message = message
        self.hint = hint


class InaccurateError(ProveModelError):
    """The run is further from the float model than ``max_error``, so nothing was proved. ``report`` is what the command
    says with --json: the worst output, its error, where values were clipped, and advice.
    """

    def __init__(self, message: str, hint: str, report: dict[str, Any]) -> None:
        super().__init__(message, hint)
        self.report = report


class InvalidProof(ProveModelError):
    """A proof does not hold; the text says why."""


class ProveModelWarning(UserWarning):
    """Something that did not end the work but that somebody should know."""
