"""What proving and verifying gives."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import Array, read
from ._errors import InvalidProof


@dataclass(frozen=True)
class Key:
    """A verification key: the quantised model without its weights, and a commitment to these."""

    file: bytes = field(repr=False)
    commitment: str = ""
    """The digest of the key, in hexadecimal, which stands for the model: publish it, and compare it whole."""

    report: dict[str, Any] = field(default_factory=dict, repr=False)
    """What the command said with --json when it made the key."""

    certificate: bytes = field(default=b"", repr=False)
    """Of the model's static bounds, if commit was asked for one (certify=True)."""

    vocabulary: bytes = field(default=b"", repr=False)
    """The file that maps the strings that the model takes, and names classes; empty for models of numbers. The key has its digest."""

    def save(self, path: str | os.PathLike[str], certificate: str | os.PathLike[str] | None = None) -> None:
        """Writes the key, its vocabulary beside it if there is one, and its certificate if a path for it is given."""
        if certificate is not None and not self.certificate:
            raise ValueError("the key has no certificate: commit makes one with certify=True")
        Path(path).write_bytes(self.file)
        if self.vocabulary:
            vocabulary_of(Path(path)).write_bytes(self.vocabulary)
        if certificate is not None:
            Path(certificate).write_bytes(self.certificate)

    @classmethod
    def load(cls, path: str | os.PathLike[str], certificate: str | os.PathLike[str] | None = None) -> Key:
        """A key that save wrote, or the command. Raises ProveModelError if the file is none."""
        from ._api import inspect, vocabulary_in

        description = inspect(key=path)
        return cls(Path(path).read_bytes(), description["model_commitment"], {}, Path(certificate).read_bytes() if certificate else b"",
                   vocabulary_in(Path(path)))


def vocabulary_of(vk: Path) -> Path:
    """Where the vocabulary of the key in a file is."""
    return vk.with_name(vk.name + ".vocabulary")


@dataclass(frozen=True)
class Accuracy:
    """How far an output is from the float model's."""

    max_error: float
    """Largest absolute difference."""
    range_error: float
    """The same in units of the float output's range, 0 included."""
    cosine: float
    unequal: int = 0
    """Entries of an integer type that are not the float model's."""


@dataclass(frozen=True)
class Saturation:
    """How many values of a place were clipped to the range that calibration gave it."""

    where: str
    count: int
    of: int


@dataclass(frozen=True)
class Phase:
    """A part of the work and its time."""

    name: str
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Proof:
    """A proof, with the key that it is for and what is known about the run."""

    file: bytes = field(repr=False)
    key: Key
    outputs: dict[str, Array] = field(repr=False)
    float_outputs: dict[str, Array] = field(repr=False)
    """Those of the float model on the same inputs, which the proof does not speak of."""
    accuracy: dict[str, Accuracy]
    within_bar: bool | None
    """Whether the run is as close to the float model's as ``max_error`` asks, or without it as docs/quantisation.md says;
    None if that is not known, of a proof that was read without its report."""
    saturated: list[Saturation]
    advice: str
    """What would bring the outputs closer, "" if there is nothing to be said."""
    phases: list[Phase] = field(repr=False)
    security_bits: float
    """Of the weakest round, proofs of work included."""
    report: dict[str, Any] = field(repr=False)
    """All that the command says with --json."""
    text: str = ""
    """What a language model wrote, with max_tokens."""
    tokens: list[int] = field(default_factory=list)
    """Its tokens."""

    @property
    def commitment(self) -> str:
        return self.key.commitment

    def save(
        self,
        path: str | os.PathLike[str],
        key: str | os.PathLike[str] | None = None,
        report: str | os.PathLike[str] | None = None,
    ) -> None:
        """Writes the proof, its key and the report, JSON, if paths for these are given."""
        Path(path).write_bytes(self.file)
        if key is not None:
            self.key.save(key)
        if report is not None:
            Path(report).write_text(json.dumps(self.report), "utf-8")

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], key: str | os.PathLike[str], report: str | os.PathLike[str] | None = None, *, min_bits: int = 100
    ) -> Proof:
        """A proof that save wrote, or the command. It is verified: raises InvalidProof if it does not hold, or if the report
        is of another one. Without the report, what the proof does not state is empty: the float model's outputs, accuracy,
        phases, and how tokens were drawn, so that a text of drawn tokens needs it."""
        from ._api import Sampling, verify, vocabulary_in

        said: dict[str, Any] = json.loads(Path(report).read_text("utf-8")) if report is not None else {}
        drawn = said.get("sampling")
        verdict = verify(path, key, min_bits=min_bits, sampling=Sampling(**drawn) if drawn else None).require()
        file, verified = Path(path).read_bytes(), Key(Path(key).read_bytes(), verdict.commitment, vocabulary=vocabulary_in(Path(key)))
        if not said:
            return cls(file, verified, verdict.outputs, {}, {}, None, verdict.saturated, "", [], verdict.security_bits, {}, "", verdict.tokens)
        made = proof_of(file, verified.file, said, verified.vocabulary)
        stated = read(said["outputs"], "values", not all(values.dtype.kind == "f" for values in verdict.outputs.values()))
        # Of some outputs the proof may state which entries are the greatest, in their place, or nothing.
        revealed = {name.split(" of ", 1)[-1] for name in verdict.outputs if name not in made.outputs} | set(verdict.hidden)
        same = made.outputs.keys() - revealed == verdict.outputs.keys() & made.outputs.keys() and all(
            np.array_equal(values, verdict.outputs[name], equal_nan=values.dtype.kind == "f") for name, values in stated.items() if name not in revealed)
        if made.commitment != verdict.commitment or not same:
            raise InvalidProof("the report is of another proof")
        return made


def proof_of(file: bytes, key: bytes, report: dict[str, Any], vocabulary: bytes = b"") -> Proof:
    """A proof with what the command said of it."""
    outputs = report["outputs"]
    return Proof(
        file, Key(key, report["model_commitment"], vocabulary=vocabulary), read(outputs), read(outputs, "float"),
        {o["name"]: Accuracy(o["max_error"], o["range_error"], o["cosine"], o.get("unequal", 0)) for o in outputs},
        report["within_bar"], [Saturation(s["where"], s["count"], s["of"]) for s in report["saturated"] or []],
        report.get("advice", ""), [Phase(p["name"], p["seconds"], p["cpu_seconds"]) for p in report["phases"]],
        report["security_bits"], report, report.get("text", ""), report.get("tokens") or [])


@dataclass(frozen=True)
class Verdict:
    """Whether a proof holds, and what it says if it does. True in a condition if and only if it holds."""

    valid: bool
    reason: str
    """Why it does not hold, "" if it does."""
    _commitment: str = ""
    _inputs: dict[str, Array] = field(default_factory=dict, repr=False)
    _outputs: dict[str, Array] = field(default_factory=dict, repr=False)
    security_bits: float = 0.0
    """Of the weakest round, proofs of work included; 0 if the proof does not hold."""
    clipped: int = 0
    """Entries of the given inputs that are beyond the model's range: the proof is the same for all of these."""
    seconds: float = 0.0
    certified: bool = False
    """Whether a certificate shows that no integer of the model wraps. If not, that rests on who issued the key."""
    saturated: list[Saturation] = field(default_factory=list)
    """How many values inside of the model were, at most, clipped, by look-up table; empty if the key does not say."""
    weights_hidden_for: int = 0
    """For how many proofs the key hides its weights, which only its holder can count; 0 if it does not hide them."""
    hidden: list[str] = field(default_factory=list)
    """The names of inputs and outputs that the proof does not state."""
    _text: str = ""
    _tokens: list[int] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.valid

    def require(self) -> Verdict:
        """The verdict itself. Raises InvalidProof if the proof does not hold."""
        if not self.valid:
            raise InvalidProof(self.reason)
        return self

    @property
    def commitment(self) -> str:
        """Of the key that the proof holds for: it stands for the model. Raises InvalidProof."""
        return self.require()._commitment

    @property
    def inputs(self) -> dict[str, Array]:
        """What the proof says that the model was run on, as it was rounded. Raises InvalidProof."""
        return self.require()._inputs

    @property
    def outputs(self) -> dict[str, Array]:
        """What the proof says that the model gives. Raises InvalidProof."""
        return self.require()._outputs

    @property
    def text(self) -> str:
        """What the proof says that a language model wrote, if verify was given its tokenizer. Raises InvalidProof."""
        return self.require()._text

    @property
    def tokens(self) -> list[int]:
        """The tokens of what it wrote. Raises InvalidProof."""
        return self.require()._tokens


def verdict_of(report: dict[str, Any], accepted: bool, prefix: str) -> Verdict:
    """A verdict of what the command said; the prefix of a reason names a file that the caller knows nothing of."""
    r = report
    if not r["valid"] or not accepted:
        return Verdict(False, r.get("reason", "the command does not say why").replace(prefix, "", 1))
    return Verdict(True, "", r["model_commitment"], read(r.get("inputs", [])), read(r.get("outputs", [])),
                   r["security_bits"], r.get("input_saturated", 0), r["seconds"], r["certified"],
                   [Saturation(s["where"], s["count"], s["of"]) for s in r.get("saturated", [])],
                   r.get("weights_hidden_for_proofs", 0), [h["name"] for h in r.get("hidden", [])], r.get("text", ""), r.get("tokens") or [])
