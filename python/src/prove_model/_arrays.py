"""Arrays to and from the command's files."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Inputs = Any
"""Arrays by the names of inputs; or one array, or a list or tuple of arrays in the order of the inputs; or the path of
a file that the command reads, such as a picture; or a list of paths, or paths by the names of inputs, arrays among
them. A torch tensor is an array too."""


def as_array(value: Any) -> Array:
    """A NumPy array of numbers, booleans or strings."""
    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype.kind == "O" and array.size and all(isinstance(item, str) for item in array.flat):
        array = array.astype(str)
    if array.dtype.kind == "U":
        return array
    if array.dtype.kind not in "fiub":
        raise TypeError(f"an input of type {array.dtype} is not an array of numbers or of strings")
    return array.astype(np.float64) if array.dtype.itemsize > 8 else array


def is_path(inputs: Inputs) -> bool:
    return isinstance(inputs, (str, os.PathLike))


def named(inputs: Inputs) -> dict[str, Array]:
    """The arrays by name; those without one are called arr_0, arr_1, …"""
    if isinstance(inputs, Mapping):
        return {str(name): as_array(value) for name, value in inputs.items()}
    if isinstance(inputs, Sequence) and not isinstance(inputs, (str, bytes)) and any(np.ndim(x) > 0 for x in inputs):
        if all(hasattr(x, "shape") for x in inputs):
            return {f"arr_{i}": as_array(value) for i, value in enumerate(inputs)}
    return {"arr_0": as_array(inputs)}


def write(inputs: Inputs, path: Path) -> list[str]:
    """The files of the inputs as the command takes them, of those that are arrays at the path or beside it."""
    if is_path(inputs):
        return [os.fspath(inputs)]
    if isinstance(inputs, Mapping) and any(is_path(value) for value in inputs.values()):
        single = [(name, value, path.with_name(f"{path.stem}-{i}.npz")) for i, (name, value) in enumerate(inputs.items())]
        return [f"{name}={os.fspath(value) if is_path(value) else write(value, file)[0]}" for name, value, file in single]
    if isinstance(inputs, (list, tuple)) and inputs and all(is_path(value) for value in inputs):
        return [os.fspath(value) for value in inputs]
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in named(inputs).items():
            dtype = array.dtype.newbyteorder("<")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array, dtype).reshape(array.shape), allow_pickle=False)
    return [os.fspath(path)]


def read(tensors: Sequence[Mapping[str, Any]], what: str = "values", named: bool = True) -> dict[str, Array]:
    """The arrays of the command's JSON, by name; of strings where the model's vocabulary names the numbers, if they are to be named."""
    names = [t.get("strings") if named and what == "values" else None for t in tensors]
    return {t["name"]: (np.array(t[what], dtype=np.float64) if n is None else np.array(n, dtype=str)).reshape(t["shape"])
            for t, n in zip(tensors, names)}
