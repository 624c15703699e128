"""Torch modules: exported, proved in batches of any size with one key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import prove_model

torch = pytest.importorskip("torch")


def network() -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))


def test_a_network_and_batches() -> None:
    module = network()
    images = np.random.default_rng(0).random((12, 1, 8, 8), dtype=np.float32)
    proto = prove_model.to_onnx(module, images)
    assert module.training
    proof = prove_model.prove(proto, images[:5], calibration=images)
    (name, outputs), = proof.outputs.items()
    with torch.no_grad():
        want = module.eval()(torch.from_numpy(images[:5])).numpy()
    assert outputs.shape == (5, 10) and np.abs(outputs - want).max() < 0.01 * np.ptp(want)
    assert prove_model.verify(proof, proof.key, inputs=images[:5])
    one = prove_model.prove(proto, torch.from_numpy(images[7:8]), calibration=images)
    assert one.commitment == proof.commitment
    assert not prove_model.verify(one, one.key, inputs=images[:5])
    # The module itself gives the same file, and so the same key.
    assert prove_model.to_onnx(module, images[:1]).SerializeToString(deterministic=True) == proto.SerializeToString(deterministic=True)


def test_the_old_exporter_where_the_new_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.onnx.export

    def export(*args: Any, dynamo: bool, **options: Any) -> Any:
        if dynamo:
            raise RuntimeError("not today")
        return real(*args, dynamo=False, **options)

    monkeypatch.setattr(torch.onnx, "export", export)
    x = np.ones((3, 4), np.float32)
    module = torch.nn.Linear(4, 2)
    proof = prove_model.prove(module, x)
    want = module(torch.from_numpy(x)).detach().numpy()
    assert np.abs(next(iter(proof.outputs.values())) - want).max() < 0.01

    def never(*args: Any, **options: Any) -> Any:
        raise RuntimeError("nor tomorrow")

    monkeypatch.setattr(torch.onnx, "export", never)
    with pytest.raises(prove_model.ProveModelError, match="nor tomorrow") as caught:
        prove_model.prove(module, x)
    assert "legacy exporter, open batch" in str(caught.value) and "dynamo exporter, fixed batch" in str(caught.value)


class TwoInputs(torch.nn.Module):  # type: ignore[misc, name-defined]
    def forward(self, first: Any, second: Any) -> Any:
        return first + 2 * second


def test_inputs_by_name() -> None:
    a, b = np.full((2, 3), 0.25, np.float32), np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    proof = prove_model.prove(TwoInputs(), {"second": b, "first": a})
    assert np.allclose(next(iter(proof.outputs.values())), a + 2 * b, atol=0.01)
    verdict = prove_model.verify(proof, proof.key, inputs={"second": b, "first": a})
    assert set(verdict.inputs) == {"first", "second"}
    with pytest.raises(prove_model.ProveModelError, match="forward takes first, second"):
        prove_model.prove(TwoInputs(), {"third": b, "first": a})
    with pytest.raises(prove_model.ProveModelError, match="example inputs"):
        prove_model.prove(TwoInputs())


def test_a_language_model_with_its_default_settings() -> None:
    """Which keep keys and values of what they read, in objects that no exporter writes."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32)
    assert config.use_cache
    module = transformers.LlamaForCausalLM(config)
    ids = np.array([[1, 5, 9, 30, 2, 7]])
    proof = prove_model.prove(module, {"input_ids": ids})
    assert module.config.use_cache
    with torch.no_grad():
        want = module.eval()(torch.from_numpy(ids)).logits.numpy()
    (outputs,) = proof.outputs.values()
    assert outputs.shape == want.shape and np.abs(outputs - want).max() < 0.01 * np.ptp(want)
    assert prove_model.verify(proof, proof.key, inputs={"input_ids": ids})
