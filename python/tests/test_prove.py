"""Proving and verifying the bundled model, and all that can be wrong with it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prove_model
import prove_model.reference
from prove_model._arrays import Array


def test_proves_and_verifies(proof: prove_model.Proof, image: Array, samples: Array, tmp_path: Path) -> None:
    logits = proof.outputs["logits"]
    assert logits.shape == (1, 10)
    assert np.abs(logits - proof.float_outputs["logits"]).max() == pytest.approx(proof.accuracy["logits"].max_error)
    assert proof.within_bar and proof.security_bits >= 100 and {p.name for p in proof.phases} >= {"prove", "open"}
    proof.save(tmp_path / "x.proof", tmp_path / "x.vk")
    for p, k in ((proof, proof.key), (proof.file, proof.key.file), (tmp_path / "x.proof", str(tmp_path / "x.vk"))):
        verdict = prove_model.verify(p, k, inputs={"image": image}, commitment=proof.commitment)
        assert verdict and verdict.valid and verdict.reason == ""
        assert np.array_equal(verdict.outputs["logits"], logits)
        assert np.array_equal(verdict.inputs["image"], image)
        assert verdict.commitment == proof.commitment and verdict.security_bits >= 100
    np.save(tmp_path / "image.npy", image)
    for inputs in ({"image": tmp_path / "image.npy"}, [tmp_path / "image.npy"], str(tmp_path / "image.npy")):
        assert prove_model.verify(proof, proof.key, inputs=inputs)
    assert not prove_model.verify(proof, proof.key, inputs={"picture": tmp_path / "image.npy"})
    key = prove_model.Key.load(tmp_path / "x.vk")
    assert key.file == proof.key.file and key.commitment == proof.commitment


@pytest.mark.skipif(sys.platform == "win32", reason="keys that hide weights are made on Linux and macOS alone")
def test_hidden_weights(model: Path, image: Array, samples: Array, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    secret = tmp_path / "digits.secret"
    with pytest.raises(ValueError, match="secret="):
        prove_model.commit(model, calibration=samples, hide="weights")
    key = prove_model.commit(model, calibration=samples, hide="weights", proofs=1, secret=secret)
    assert secret.stat().st_mode & 0o777 == 0o600
    assert prove_model.inspect(key=key)["hidden"]["proofs"] == key.report["hidden"]["proofs_left"] >= 1
    for _ in range(key.report["hidden"]["proofs_left"]):
        proof = prove_model.prove(model, image, calibration=samples, key=key, secret=secret)
        verdict = prove_model.verify(proof, key, inputs=image, commitment=key.commitment)
        assert verdict and verdict.weights_hidden_for >= 1 and not verdict.saturated
    with pytest.raises(prove_model.ProveModelError, match="the key is used up"):
        prove_model.prove(model, image, calibration=samples, key=key, secret=secret)
    with pytest.raises(ValueError, match="secret="):
        prove_model.prove(model, image, calibration=samples, key=key)
    with pytest.raises(ValueError, match="key="):
        prove_model.prove(model, image, calibration=samples, hide="weights")


@pytest.mark.skipif(sys.platform == "win32", reason="secrets are made on Linux and macOS alone")
def test_committed_input(model: Path, image: Array, samples: Array, proof: prove_model.Proof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    vk, array, commitment = tmp_path / "m.vk", tmp_path / "x.npy", tmp_path / "x.in"
    proof.key.save(vk)
    np.save(array, image)
    subprocess.run([sys.executable, "-m", "prove_model", "commit-input", "--vk", str(vk), "--input", str(array), "--input-commitment", str(commitment)], check=True)
    hiding = prove_model.prove(model, image, calibration=samples, input_commitment=commitment)
    verdict = prove_model.verify(hiding, hiding.key)
    assert verdict and verdict.hidden
    with pytest.raises(prove_model.ProveModelError, match="committed to"):
        prove_model.prove(model, image + 0.5, calibration=samples, input_commitment=commitment)


def test_a_proof_that_does_not_hold(proof: prove_model.Proof, image: Array) -> None:
    altered = bytearray(proof.file)
    altered[len(altered) // 2] ^= 1
    verdict = prove_model.verify(bytes(altered), proof.key)
    assert not verdict and verdict.reason
    for read in (lambda: verdict.outputs, lambda: verdict.inputs, lambda: verdict.commitment, verdict.require):
        with pytest.raises(prove_model.InvalidProof, match=r"\w"):
            read()
    other = image.copy()
    other[0, 0, 4, 4] += 0.5
    refused = prove_model.verify(proof, proof.key, inputs=other)
    assert not refused and "another input" in refused.reason and "/" not in refused.reason
    assert not prove_model.verify(proof, proof.key, commitment="00" * 32)
    assert "--min-bits" in prove_model.verify(proof, proof.key, min_bits=128).reason
    assert not prove_model.verify(proof.file[:1000], proof.key)
    assert not prove_model.verify(b"", b"")


def test_both_verifiers_say_the_same(proof: prove_model.Proof, image: Array) -> None:
    ours, other = prove_model.verify(proof, proof.key), prove_model.reference.verify(proof, proof.key, inputs=image)
    assert other.valid and ours.commitment == other.commitment
    assert np.array_equal(ours.outputs["logits"], other.outputs["logits"])
    assert [(s.count, s.of) for s in ours.saturated] == [(s.count, s.of) for s in other.saturated]
    assert other.security_bits == pytest.approx(ours.security_bits, abs=0.1)
    assert not prove_model.reference.verify(proof, proof.key, inputs={"image": image + 1})
    assert not prove_model.reference.verify(proof, proof.key, commitment="00" * 32)
    assert not prove_model.reference.verify(proof.file[:-40], proof.key)


def test_ways_to_say_the_same_input(model: Path, image: Array, samples: Array, proof: prove_model.Proof, tmp_path: Path) -> None:
    file = tmp_path / "input.npy"
    np.save(file, image)
    for inputs in (image[0].tolist(), {"image": image.astype(np.float32)}, [image], file, np.asfortranarray(image)):
        again = prove_model.prove(model, inputs, calibration=samples)
        assert again.file == proof.file and again.key.file == proof.key.file


def test_inputs_have_the_name_and_the_shape_of_the_models(model: Path, image: Array, samples: Array, proof: prove_model.Proof) -> None:
    wrong: list[tuple[Any, str]] = [
        ({"picture": image}, "picture"),
        ({"Image": image}, "Image"),
        (image[0, 0], r"shape \[8,? 8\].*\[(1|\"batch\"),? 1,? 8,? 8\]"),
        (image.reshape(64), r"shape \[64\].*\[(1|\"batch\"),? 1,? 8,? 8\]"),
        (image.transpose(0, 2, 3, 1), r"shape \[1,? 8,? 8,? 1\].*\[(1|\"batch\"),? 1,? 8,? 8\]"),
        (np.repeat(image, 3, 1), r"shape \[1,? 3,? 8,? 8\].*\[(1|\"batch\"),? 1,? 8,? 8\]"),
        ([image, image], "2"),
    ]
    for inputs, said in wrong:
        with pytest.raises(prove_model.ProveModelError, match=said):
            prove_model.prove(model, inputs, calibration=samples)
        for verify in (prove_model.verify, prove_model.reference.verify):
            verdict = verify(proof, proof.key, inputs=inputs)
            assert not verdict and (re.search(said, verdict.reason) or "another number of tensors" in verdict.reason)
    with pytest.raises(prove_model.ProveModelError, match="picture"):
        prove_model.prove(model, image, calibration={"picture": samples})
    for inputs in (image[0], {"image": image[0]}, {"arr_0": image}):
        assert prove_model.verify(proof, proof.key, inputs=inputs)
    assert prove_model.reference.verify(proof, proof.key, inputs=image[0])


def test_commit_gives_the_key_of_prove(model: Path, samples: Array, proof: prove_model.Proof) -> None:
    key = prove_model.commit(model, calibration=samples)
    assert key.file == proof.key.file and key.commitment == proof.commitment and key.report["parameters"] == 18586
    assert prove_model.check_key(model, key) == ""
    certified = prove_model.commit(model, calibration=samples, certify=True)
    assert certified.file == key.file and key.certificate == b""
    assert prove_model.verify(proof, key, certificate=certified.certificate).certified
    assert not prove_model.verify(proof, key).certified
    assert not prove_model.verify(proof, key, certificate=certified.certificate[:-1])
    other = prove_model.commit(model, calibration=samples, headroom=3)
    assert other.commitment != key.commitment
    altered = bytearray(key.file)
    altered[len(altered) // 2] ^= 1
    assert prove_model.check_key(model, bytes(altered)) != ""


def test_a_proto_is_the_file(model: Path, image: Array, samples: Array, proof: prove_model.Proof) -> None:
    onnx = pytest.importorskip("onnx")
    again = prove_model.prove(onnx.load(model), image, calibration=samples)
    assert np.array_equal(again.outputs["logits"], proof.outputs["logits"])


def test_inaccurate(model: Path, image: Array, samples: Array) -> None:
    with pytest.raises(prove_model.InaccurateError, match="is off by") as caught:
        prove_model.prove(model, 100 * image, calibration=samples, max_error=0.01)
    assert caught.value.report["output"] == "logits" and caught.value.hint in str(caught.value)
    with pytest.warns(prove_model.ProveModelWarning, match="FAR FROM THE FLOAT MODEL"):
        far = prove_model.prove(model, 100 * image, calibration=samples)
    assert not far.within_bar and far.saturated[0].where == "the input" and far.advice


def test_errors_have_the_whole_text(model: Path, image: Array, tmp_path: Path) -> None:
    with pytest.raises(prove_model.ProveModelError, match=r"has shape \[1 1 8 7\], and the input has \[\"batch\" 1 8 8\]"):
        prove_model.prove(model, image[..., :7])
    with pytest.raises(prove_model.ProveModelError, match="unknown flag: --nonsense") as caught:
        prove_model.prove(model, image, nonsense=1)  # type: ignore[call-arg]
    assert "--help" in caught.value.hint
    with pytest.raises(prove_model.ProveModelError, match="no such file"):
        prove_model.prove(tmp_path / "none.onnx", image)
    with pytest.raises(prove_model.ProveModelError, match="want auto or w8a8 or exact"):
        prove_model.prove(model, image, mode="int4")  # type: ignore[arg-type]
    with pytest.raises(prove_model.ProveModelError, match="hexadecimal"):
        prove_model.verify(b"", b"", commitment="00")
    with pytest.raises(TypeError, match="want the path"):
        prove_model.prove(object(), image)
    with pytest.raises(TypeError, match="not an array of numbers"):
        prove_model.prove(model, np.array([None]))
    with pytest.raises(prove_model.ProveModelError, match="where numbers are expected"):
        prove_model.prove(model, np.array(["a"]))


def test_saved_and_loaded(model: Path, samples: Array, proof: prove_model.Proof, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("x.proof", "x.vk", "x.json")]
    proof.save(*paths)
    again = prove_model.Proof.load(*paths)
    assert again.file == proof.file and again.key.file == proof.key.file and again.accuracy == proof.accuracy
    assert np.array_equal(again.float_outputs["logits"], proof.float_outputs["logits"]) and again.report == proof.report
    bare = prove_model.Proof.load(*paths[:2])
    assert np.array_equal(bare.outputs["logits"], proof.outputs["logits"]) and bare.within_bar is None and not bare.accuracy
    assert bare.commitment == proof.commitment
    report = dict(proof.report)
    report["outputs"] = [{**proof.report["outputs"][0], "values": [0] * 10}]
    paths[2].write_text(json.dumps(report))
    with pytest.raises(prove_model.InvalidProof, match="another proof"):
        prove_model.Proof.load(*paths)
    paths[0].write_bytes(proof.file[:-1])
    with pytest.raises(prove_model.InvalidProof):
        prove_model.Proof.load(*paths[:2])
    with pytest.raises(prove_model.ProveModelError):
        prove_model.Key.load(paths[0])
    with pytest.raises(ValueError, match="certify=True"):
        proof.key.save(paths[1], tmp_path / "x.cert")
    certified = prove_model.commit(model, calibration=samples, certify=True)
    certified.save(paths[1], tmp_path / "x.cert")
    loaded = prove_model.Key.load(paths[1], tmp_path / "x.cert")
    assert loaded.certificate == certified.certificate and loaded.commitment == certified.commitment


def test_version() -> None:
    said = subprocess.run([sys.executable, "-m", "prove_model", "version"], capture_output=True, text=True, check=True).stdout
    assert said.split()[1] == prove_model.__version__


def test_options_are_typed(tmp_path: Path) -> None:
    """A checker refuses an option that is misspelt, and the types name every flag of the command."""
    program = tmp_path / "program.py"
    program.write_text("import prove_model\nprove_model.prove('m.onnx', max_error=0.1, threads=2, dim={'batch': 2}, mode='exact')\n"
                       "prove_model.prove('m.onnx', max_eror=0.1)\nprove_model.commit('m.onnx', mode='int4')\n"
                       "prove_model.check_key('m.onnx', b'', thread=2)\nprove_model.inspect('m.onnx', headroom='2')\n")
    checked = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", "", str(program)], capture_output=True, text=True, check=False)
    lines = [int(line.split(":")[1]) for line in checked.stdout.splitlines() if ": error:" in line]
    assert lines == [3, 4, 5, 6] and "max_eror" in checked.stdout, checked.stdout + checked.stderr
    ours = {"model", "input", "calibration", "ranges", "proof", "vk", "key", "proofs", "certify", "cert", "max_error", "json", "progress_json", "quiet", "help", "version", "renew", "link", "share", "min_bits", "vocabulary"}
    for options, words in ((prove_model.ProveOptions, []), (prove_model.CommitOptions, ["commit"]), (prove_model.CheckKeyOptions, ["check-key"]),
                           (prove_model.InspectOptions, ["inspect"])):
        text = subprocess.run([sys.executable, "-m", "prove_model", *words, "--help"], capture_output=True, text=True, check=True).stdout
        flags = {flag.replace("-", "_") for flag in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", text, re.M)}
        keys = set(options.__annotations__)
        for base in getattr(options, "__orig_bases__", ()):
            keys |= set(getattr(base, "__annotations__", {}))
        # What is experimental is in no help; links and chains are made and checked by the command, a key's vocabulary comes with it, each runs samples that Python gives one by one, and prompts has a result of several texts.
        assert flags - ours - {"each", "prompts", "chain", "segment_tokens"} == keys - ours, (words, flags ^ keys)


def test_async(model: Path, image: Array, samples: Array, proof: prove_model.Proof) -> None:
    said: list[tuple[str, float]] = []

    async def all_of_it() -> None:
        here = threading.get_ident()

        def tell(phase: str, part: float) -> None:
            assert threading.get_ident() == here
            said.append((phase, part))

        again = await prove_model.prove_async(model, image, calibration=samples, no_cache=True, progress=tell)
        key, verdict = await asyncio.gather(
            prove_model.commit_async(model, calibration=samples, no_cache=True), prove_model.verify_async(again, again.key, inputs=image))
        assert again.file == proof.file and key.file == proof.key.file and verdict
        assert await prove_model.check_key_async(model, key) == ""
        with pytest.raises(prove_model.ProveModelError):
            await prove_model.prove_async("none.onnx")

    asyncio.run(all_of_it())
    assert said[-1] == ("self-check", 1)


def test_a_task_that_is_cancelled_ends_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.name != "posix":
        pytest.skip("a script stands for the command")
    command = tmp_path / "command"
    command.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/started.new; mv {tmp_path}/started.new {tmp_path}/started; exec sleep 100\n")
    command.chmod(0o755)
    monkeypatch.setenv("PROVE_MODEL_COMMAND", str(command))

    async def begin() -> None:
        task = asyncio.create_task(prove_model.prove_async("m.onnx"))
        while not (tmp_path / "started").exists():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(begin(), 60))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)


def test_progress(model: Path, image: Array, samples: Array) -> None:
    said: list[tuple[str, float]] = []
    prove_model.prove(model, image, calibration=samples, progress=lambda phase, part: said.append((phase, part)))
    assert [phase for phase, part in said if part == 1][-2:] == ["open", "self-check"]
    assert all(0 <= part <= 1 for _, part in said)


def test_a_bar_is_shown(model: Path, image: Array, samples: Array, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    prove_model.prove(model, image, calibration=samples, progress=True)
    assert "self-check" in capfd.readouterr().err
    prove_model.prove(model, image, calibration=samples, progress=False)
    assert capfd.readouterr().err == ""


def test_inspect(model: Path, image: Array, proof: prove_model.Proof) -> None:
    assert prove_model.inspect(model, image)["parameters"] == 18586
    assert prove_model.inspect(key=proof.key)["model_commitment"] == proof.commitment
    assert prove_model.inspect(proof=proof)["proof_bytes"] == len(proof.file)


def test_is_the_command(proof: prove_model.Proof, tmp_path: Path) -> None:
    proof.save(tmp_path / "x.proof", tmp_path / "x.vk")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "prove_model", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)

    valid = run("verify", "--proof", "x.proof", "--vk", "x.vk")
    assert valid.returncode == 0 and valid.stdout.startswith("VALID: the model with commitment " + proof.commitment)
    assert run("verify", "--proof", "x.vk", "--vk", "x.vk").returncode == 1
    assert run("verify").returncode == 2


def test_no_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PROVE_MODEL_COMMAND", str(tmp_path / "none"))
    with pytest.raises(prove_model.ProveModelError, match="there is no command") as caught:
        prove_model.verify(b"", b"")
    assert "PROVE_MODEL_COMMAND" in caught.value.hint


def test_names_of_any_kind(tmp_path: Path) -> None:
    """Names come from files of others; a key has them in printable characters."""
    onnx = pytest.importorskip("onnx")
    name, out = "file", "caf\u00e9 \x1b[2K/../y"
    helper, float_ = onnx.helper, onnx.TensorProto.FLOAT
    declared: list[Any] = [helper.make_tensor_value_info(n, float_, [1, 3]) for n in (name, out)]
    graph = helper.make_graph([helper.make_node("Relu", [name], [out])], "g", declared[:1], declared[1:])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    proof = prove_model.prove(proto, {name: np.array([[-1.0, 0.5, 2]])})
    assert proof.outputs[out].tolist() == [[0, 0.5, 2]]
    (printed, values), = prove_model.verify(proof, proof.key).outputs.items()
    assert values.tolist() == [[0, 0.5, 2]] and printed.isprintable() and printed.startswith("caf\u00e9 ")
