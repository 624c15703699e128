"""Options of the command by their names in Python, with types, so that a checker finds one that is misspelt. What each
means is in ``prove-model --help``; the command refuses those that it does not know."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

Path = str | os.PathLike[str]
Names = str | Sequence[str]
When = bool | Literal["auto", "require", "off"]


class ModelOptions(TypedDict, total=False):
    """How a model is read."""

    adapter: Path
    base: Path
    fix: Mapping[str, Path]
    output: Names
    config: Path


class RunOptions(ModelOptions, total=False):
    """What it is run on, and how its values become integers."""

    audio: Path
    chat: bool
    dim: Mapping[str, int]
    image: str
    language: str
    logits: Literal["all", "last", "generated"]
    max_tokens: int
    prompt: str
    seed: int
    tokens: int
    tokens_file: Path
    headroom: float
    mode: Literal["auto", "w8a8", "exact"]
    target_error: float


class MachineOptions(TypedDict, total=False):
    """What does the work."""

    gpu: When
    gpu_threshold: int
    threads: int


class CommitOptions(RunOptions, MachineOptions, total=False):
    """Options of commit."""

    embedding: bool
    devices: str
    memory_gb: float
    multi_gpu: bool
    cache_dir: Path
    no_cache: bool
    ranges_out: Path
    chunk_budget_gb: float
    cpu_workers: int
    force: bool
    gpu_streams: int
    grind_bits: int
    security_bits: int
    soundness: Literal["unique", "johnson"]
    hash: Literal["blake3", "poseidon2"]
    hide: str
    secret: Path


class ProveOptions(CommitOptions, total=False):
    """Options of prove."""

    check: Literal["onnxruntime"]
    input_commitment: Path
    reveal: Names
    temperature: float
    top_k: int
    top_p: float
    report: Path
    share: str
    no_resume: bool
    no_self_check: bool


class CheckKeyOptions(ModelOptions, MachineOptions, total=False):
    """Options of check_key."""


class InspectOptions(RunOptions, total=False):
    """Options of inspect."""

    force: bool
    html: Path
    secret: Path
