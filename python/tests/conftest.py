"""What all tests share: a cache of their own, and the bundled model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import prove_model
from prove_model._arrays import Array

DIGITS = Path(__file__).parents[2] / "testdata" / "digits"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROVE_MODEL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def model() -> Path:
    return DIGITS / "digits.onnx"


def numbers(name: str) -> Array:
    data = json.loads((DIGITS / name).read_text())["input_data"][0]
    return np.array(data, dtype=np.float64).reshape(-1, 1, 8, 8)


@pytest.fixture(scope="session")
def image() -> Array:
    return numbers("input.json")


@pytest.fixture(scope="session")
def samples() -> Array:
    return numbers("calibration.json")


@pytest.fixture(scope="session")
def proof(model: Path, image: Array, samples: Array) -> prove_model.Proof:
    return prove_model.prove(model, image, calibration=samples, no_cache=True)
