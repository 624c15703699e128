"""Runs the command prove-model."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import warnings
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ._errors import ProveModelError, ProveModelWarning
from ._progress import Listener


def command() -> Path:
    """The command: the one of PROVE_MODEL_COMMAND, or the one in this package."""
    named = os.environ.get("PROVE_MODEL_COMMAND")
    path = Path(named) if named else Path(__file__).parent / "bin" / ("prove-model.exe" if os.name == "nt" else "prove-model")
    if not path.is_file():
        raise ProveModelError(f"there is no command at {path}",
                              "install a wheel of prove-model, or name a built command in PROVE_MODEL_COMMAND")
    return path


class Running:
    """A run of the command that another thread may end."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stopped = False
        self.process: subprocess.Popen[bytes] | None = None

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        with self.lock:
            self.process = process
            if self.stopped:
                process.terminate()

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            if self.process is not None:
                self.process.terminate()


running: ContextVar[Running | None] = ContextVar("running", default=None)
"""What wants to know of runs in this context."""


@dataclass
class Outcome:
    """What a run of the command gave."""

    code: int
    result: Any  # its JSON, None if it printed none
    message: str  # the error, without its hint
    hint: str


def run(arguments: list[str], listener: Listener | None = None) -> Outcome:
    """Runs the command with --json. The listener is told of the work's progress."""
    line = [str(command()), *arguments, "--json"]
    if listener is not None:
        line.append("--progress-json")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None and process.stderr is not None
        watched = running.get()
        if watched is not None:
            watched.begin(process)
        out: list[bytes] = []
        reader = threading.Thread(target=lambda stream: out.append(stream.read()), args=(process.stdout,), daemon=True)
        reader.start()
        try:
            text = follow(process.stderr, listener)
            reader.join()
            code = process.wait()
        except BaseException:  # an interruption: the command writes no file
            process.terminate()
            process.wait()
            raise
        finally:
            if listener is not None:
                listener.close()
    if code == 0 and text:  # what the command says even if all is well
        warnings.warn(text, ProveModelWarning, stacklevel=3)
    message, hint = parted(text)
    return Outcome(code, json.loads(out[0]) if out[0].strip() else None, message, hint)


def follow(stream: IO[bytes], listener: Listener | None) -> str:
    """Reads the command's messages, and returns those that are no events of its progress."""
    text: list[str] = []
    for raw in stream:
        line = raw.decode("utf-8", "backslashreplace").rstrip("\n")
        event = parse(line) if listener is not None else None
        if event is None:
            text.append(line)
        elif "warning" in event:
            warnings.warn(event["warning"], ProveModelWarning, stacklevel=5)
        elif listener is not None:
            listener.event(event)
    return "\n".join(text)


def parse(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and ("name" in event or "warning" in event) else None


def parted(text: str) -> tuple[str, str]:
    """An error's text without the program's name, and the hint after it."""
    message, _, hint = text.partition("\nhint: ")
    return message.strip().removeprefix("prove-model: "), hint.strip()
