"""The same functions for programs with an event loop. The work is done by a process, so that the loop goes on; a task
that is cancelled ends it. A progress function is called in the loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from . import _api
from ._arrays import Inputs
from ._command import Running, running
from ._progress import Progress
from ._results import Key, Proof, Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._api import Sampling
    from ._options import CheckKeyOptions, CommitOptions, ProveOptions

T = TypeVar("T")


async def prove_async(
    model: Any,
    inputs: Inputs | None = None,
    *,
    calibration: Inputs | None = None,
    ranges: str | os.PathLike[str] | None = None,
    max_error: float | None = None,
    progress: Progress = None,
    **options: Unpack[ProveOptions],
) -> Proof:
    """prove, without blocking the event loop."""
    told = in_loop(progress)
    return await elsewhere(lambda: _api.prove(
        model, inputs, calibration=calibration, ranges=ranges, max_error=max_error, progress=told, **options))


async def commit_async(
    model: Any,
    inputs: Inputs | None = None,
    *,
    calibration: Inputs | None = None,
    ranges: str | os.PathLike[str] | None = None,
    certify: bool = False,
    progress: Progress = None,
    **options: Unpack[CommitOptions],
) -> Key:
    """commit, without blocking the event loop."""
    told = in_loop(progress)
    return await elsewhere(lambda: _api.commit(
        model, inputs, calibration=calibration, ranges=ranges, certify=certify, progress=told, **options))


async def verify_async(
    proof: Proof | bytes | str | os.PathLike[str],
    key: Key | bytes | str | os.PathLike[str],
    *,
    inputs: Inputs | None = None,
    commitment: str | None = None,
    min_bits: int = 100,
    certificate: bytes | str | os.PathLike[str] | None = None,
    tokenizer: str | os.PathLike[str] | None = None,
    prompt: str | None = None,
    text: str | None = None,
    chat: bool = False,
    audio: str | os.PathLike[str] | None = None,
    image: str | None = None,
    sampling: Sampling | None = None,
) -> Verdict:
    """verify, without blocking the event loop."""
    return await elsewhere(lambda: _api.verify(
        proof, key, inputs=inputs, commitment=commitment, min_bits=min_bits, certificate=certificate, tokenizer=tokenizer,
        prompt=prompt, text=text, chat=chat, audio=audio, image=image, sampling=sampling))


async def check_key_async(
    model: Any, key: Key | bytes | str | os.PathLike[str], *, progress: Progress = None, **options: Unpack[CheckKeyOptions]
) -> str:
    """check_key, without blocking the event loop."""
    told = in_loop(progress)
    return await elsewhere(lambda: _api.check_key(model, key, progress=told, **options))


def in_loop(progress: Progress) -> Progress:
    """A progress function that is called in the running loop, from another thread."""
    if not callable(progress):
        return progress
    loop, tell = asyncio.get_running_loop(), progress

    def told(phase: str, part: float) -> None:
        loop.call_soon_threadsafe(tell, phase, part)

    return told


async def elsewhere(work: Callable[[], T]) -> T:
    """The result of the work, in a thread. Whoever cancels the task ends the command that the work runs."""
    command = Running()
    token = running.set(command)  # which the thread gets with its context
    try:
        task = asyncio.ensure_future(asyncio.to_thread(work))
    finally:
        running.reset(token)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        command.stop()
        with contextlib.suppress(Exception):
            await task  # until its files are gone
        raise
