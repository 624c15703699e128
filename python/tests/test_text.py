"""Language models."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import prove_model

ROOT = Path(__file__).parents[2]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A tiny language model with the tokenizer of the command's tests."""
    folder = tmp_path / "m"
    shutil.copytree(ROOT / "hf" / "testdata" / "llama", folder)
    script = (ROOT / "cmd" / "prove-model" / "testdata" / "script" / "text.txtar").read_text()
    found = re.search(r"^-- tokenizer.json --\n(.*?)(?=^-- |\Z)", script, re.M | re.S)
    assert found is not None
    (folder / "tokenizer.json").write_text(found.group(1))
    return folder


def test_a_model_that_writes(model: Path) -> None:
    proof = prove_model.prove(model, prompt="abc", max_tokens=5, mode="exact", no_cache=True)
    assert len(proof.tokens) == 5 and proof.text
    verdict = prove_model.verify(proof, proof.key, tokenizer=model, prompt="abc", text=proof.text)
    assert verdict.text == proof.text and verdict.tokens == proof.tokens
    other = prove_model.verify(proof, proof.key, tokenizer=model / "tokenizer.json", prompt="abd")
    assert not other and "prompt" in other.reason
    with pytest.raises(prove_model.InvalidProof):
        _ = other.text


def test_tokens_that_are_drawn(model: Path, tmp_path: Path) -> None:
    proof = prove_model.prove(model, prompt="abc", max_tokens=5, mode="exact", no_cache=True, seed=7, temperature=1.5, top_k=20)
    assert not prove_model.verify(proof, proof.key)
    drawn = prove_model.Sampling(7, 1.5, 20)
    assert prove_model.verify(proof, proof.key, sampling=drawn).tokens == proof.tokens
    assert not prove_model.verify(proof, proof.key, sampling=prove_model.Sampling(8, 1.5, 20))
    proof.save(tmp_path / "x.proof", tmp_path / "x.vk", tmp_path / "x.json")
    assert prove_model.Proof.load(tmp_path / "x.proof", tmp_path / "x.vk", tmp_path / "x.json").text == proof.text


def test_a_model_of_speech() -> None:
    folder = ROOT / "hf" / "testdata" / "whisper-speech"
    audio = folder / "audio.wav"
    proof = prove_model.prove(folder, audio=audio, language="en", max_tokens=3, tokens=12, mode="w8a8", no_cache=True)
    assert len(proof.tokens) == 3
    verdict = prove_model.verify(proof, proof.key, audio=audio)
    assert verdict and verdict.tokens == proof.tokens
