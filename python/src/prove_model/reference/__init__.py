"""A second verifier, in Python alone: written from docs/proof-format.md, it shares no code with the command.

Slower than the command, which is the one to use; it is for those who want to read what a verifier does, or to hear two.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import Array, Inputs, is_path, named
from .._results import Key, Proof, Saturation, Verdict
from ._verifier import statement
from ._verifier.errors import Invalid


def verify(
    proof: Proof | bytes | str | os.PathLike[str],
    key: Key | bytes | str | os.PathLike[str],
    *,
    inputs: Inputs | None = None,
    commitment: str | None = None,
    min_bits: int = 100,
) -> Verdict:
    """Checks a proof against a key, as prove_model.verify does. inputs are arrays."""
    if is_path(inputs):
        raise TypeError("this verifier takes inputs as arrays")
    started = time.monotonic()
    try:
        given = None if inputs is None else shaped(inputs)
        checked = statement.check(content(key), content(proof), given, commitment, min_bits)
    except Invalid as reason:
        return Verdict(False, str(reason))
    return Verdict(True, "", checked.vk.commitment.hex(), arrays(statement.inputs(checked)), arrays(statement.outputs(checked)),
                   statement.bits(checked), seconds=time.monotonic() - started,
                   saturated=[Saturation(", ".join(nodes), count, of) for nodes, count, of in statement.saturated(checked)])


def shaped(inputs: Inputs) -> Any:
    """Shapes and entries, by name where the caller gives names, and in the order of the inputs otherwise."""
    arrays = {name: (list(a.shape), [float(x) for x in a.reshape(-1)]) for name, a in named(inputs).items()}
    return arrays if isinstance(inputs, Mapping) else list(arrays.values())


def content(source: Proof | Key | bytes | str | os.PathLike[str]) -> bytes:
    if isinstance(source, (Proof, Key)):
        return source.file
    return bytes(source) if isinstance(source, (bytes, bytearray, memoryview)) else Path(source).read_bytes()


def arrays(tensors: list[tuple[str, list[int], list[float]]]) -> dict[str, Array]:
    return {name: np.array(values, dtype=np.float64).reshape(shape) for name, shape, values in tensors}
