"""Models that take strings and name classes."""

from pathlib import Path

import numpy as np
import pytest

import prove_model

MODELS = Path(__file__).parents[2] / "onnx" / "testdata" / "strings"


def test_texts(tmp_path: Path) -> None:
    texts = np.array([["the cat sat on the mat"], ["stocks fell today"], ["my dog"]])
    proof = prove_model.prove(MODELS / "tfidf.onnx", {"text": texts}, no_cache=True)
    assert proof.outputs["output_label"].tolist() == ["pets", "finance", "pets"]
    assert proof.key.vocabulary
    assert prove_model.verify(proof, proof.key, inputs={"text": texts}).outputs["output_label"].tolist() == ["pets", "finance", "pets"]
    other = prove_model.verify(proof, proof.key, inputs={"text": texts[::-1]})
    assert not other and "another input" in other.reason
    proof.save(tmp_path / "x.proof", tmp_path / "x.vk", tmp_path / "x.json")
    again = prove_model.Proof.load(tmp_path / "x.proof", tmp_path / "x.vk", tmp_path / "x.json")
    assert again.key == proof.key or again.key.vocabulary == proof.key.vocabulary
    (tmp_path / "x.vk.vocabulary").unlink()
    assert prove_model.verify(tmp_path / "x.proof", tmp_path / "x.vk").outputs["output_label"].tolist() == [1, 0, 1]
    assert prove_model.Proof.load(tmp_path / "x.proof", tmp_path / "x.vk", tmp_path / "x.json").commitment == proof.commitment


def test_what_is_no_string() -> None:
    with pytest.raises(TypeError):
        prove_model.prove(MODELS / "tfidf.onnx", {"text": np.array([[b"bytes"]])})
