"""The functions of the package. Each writes what the command needs into a folder of its own, runs it, and reads what it
gives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ._arrays import Inputs, write
from ._command import Outcome, run
from ._errors import InaccurateError, ProveModelError
from ._models import as_file
from ._progress import Listener, Progress
from ._results import Key, Proof, Verdict, proof_of, verdict_of, vocabulary_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import CheckKeyOptions, CommitOptions, InspectOptions, ProveOptions

VALID, NOT_VALID, INACCURATE = 0, 1, 3  # exit codes


@dataclass(frozen=True)
class Sampling:
    """How the tokens that a language model wrote were drawn: what prove was told as seed, temperature, top_k and top_p."""

    seed: int
    temperature: float = 1.0
    top_k: int = 0
    """Among so many of the likeliest; 0: all."""
    top_p: float = 1.0
    """And of these among the fewest that have this share."""


def prove(
    model: Any,
    inputs: Inputs | None = None,
    *,
    calibration: Inputs | None = None,
    ranges: str | os.PathLike[str] | None = None,
    max_error: float | None = None,
    key: Key | bytes | str | os.PathLike[str] | None = None,
    progress: Progress = None,
    **options: Unpack[ProveOptions],
) -> Proof:
    """Quantises a model, commits to its weights, and proves what it gives on the inputs.

    The model is the path of an ONNX file or of a folder, an ONNX ModelProto, a torch module or a scikit-learn estimator.
    inputs are arrays by the names of the model's inputs, or one array, or a list of arrays in their order, or the path
    of a file, or paths by name; without any a random input is proved. A picture, .png or .jpg, is resized to its input;
    image="imagenet" and the like say how its pixels become numbers, which are what is proved. If the model leaves the
    size of its batch open, any leading axis will do. calibration are samples that set the ranges of all values: arrays
    with samples along the first axis. A language model, a folder with its tokenizer, takes prompt="…" in place of
    inputs, and writes with max_tokens=16; a model of speech takes audio="x.wav" and language="en"; a sentence encoder gives its vector with embedding=True.

    With max_error, a fraction of an output's range, a run that is further from the float model raises InaccurateError.
    Other options are the command's, with underscores: mode="exact", gpu="auto", threads=4, security_bits=110,
    dim={"batch": 4}, output=["logits"], no_cache=True, … (ProveOptions)

    For a key that hides weights (commit with hide="weights") give it as key, and the file of its secret as secret: the
    proof then hides them too, and takes a share of what the key is good for, which the secret's file counts.

    hide="input", or "output", or both with a comma, hides them: the proof then does not state them, and says nothing of them
    but what follows from what it states (reveal="logits=argmax" states the greatest entry). calibration or ranges must be given, as the
    ranges in the key would be those of the hidden input.

    Raises ProveModelError with the command's whole text if it does not accept something.
    """
    with TemporaryDirectory() as temp:
        folder = Path(temp)
        arguments = of_model(model, inputs, calibration, ranges, folder)
        proof, vk = folder / "x.proof", folder / "x.vk"
        if key is not None:
            require_secret(options, "a key that is given to prove hides weights")
            vk.write_bytes(Path(file_of(key, vk)).read_bytes())
        elif "weights" in (options.get("hide") or "").split(",") or options.get("secret") is not None:
            raise ValueError("a key that hides weights is made before its proofs, by commit with hide=: give it as key=")
        arguments += ["--proof", str(proof), "--vk", str(vk), *flags({**options, "max_error": max_error})]
        outcome = succeed(run(arguments, listen(progress)))
        return proof_of(proof.read_bytes(), vk.read_bytes(), outcome.result, vocabulary_in(vk))


def commit(
    model: Any,
    inputs: Inputs | None = None,
    *,
    calibration: Inputs | None = None,
    ranges: str | os.PathLike[str] | None = None,
    certify: bool = False,
    proofs: int | None = None,
    progress: Progress = None,
    **options: Unpack[CommitOptions],
) -> Key:
    """Quantises a model and commits to its weights, without proving anything. Parameters are those of prove; inputs set
    the ranges if there is neither calibration nor ranges. With certify the key comes with a certificate, which verify
    takes.

    With hide="weights" the key and its proofs, as many as proofs says (50), say nothing of the weights but what is public.
    secret is the file of the key's secret, which commit makes and prove takes: keep it, and show it to nobody."""
    if options.get("hide") is not None:
        require_secret(options, "a key that hides weights has a secret")
    with TemporaryDirectory() as temp:
        folder = Path(temp)
        key = folder / "x.vk"
        arguments = ["commit", *of_model(model, inputs, calibration, ranges, folder), "--vk", str(key), *flags({**options, "proofs": proofs})]
        certificate = folder / "x.cert"
        if certify:
            arguments += ["--certify", "--cert", str(certificate)]
        outcome = succeed(run(arguments, listen(progress)))
        return Key(key.read_bytes(), outcome.result["model_commitment"], outcome.result, certificate.read_bytes() if certify else b"",
                   vocabulary_in(key))


def verify(
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
    """Checks a proof against a key; both may be paths, bytes, or what prove and commit gave.

    The key stands for the model: have it, or the commitment, from a source that you trust. With inputs the proof must be
    about these, strings being mapped by the key's vocabulary (Key.vocabulary, or the file beside the key); with a certificate (Key.certificate, or a path) the model's static bounds are checked too. With the
    tokenizer of a language model, a file or the model's folder, the verdict has the text, and with prompt and text
    the proof must be about these; chat says that the prompt was the beginning of a conversation, and audio is the file that a model of
    speech must have listened to. image says how the
    pixels of pictures among the inputs become numbers, as it did for prove. Tokens must be the likeliest, or with sampling
    those that this draws. A proof that does not hold gives a verdict
    that is false and says why. Raises ProveModelError if a file cannot be read, or an option is not understood.
    """
    with TemporaryDirectory() as temp:
        folder = Path(temp)
        arguments = ["verify", "--proof", file_of(proof, folder / "x.proof"), "--vk", file_of(key, folder / "x.vk")]
        if inputs is not None:
            arguments += [f"--input={file}" for file in write(inputs, folder / "input.npz")]
        if certificate is not None:
            arguments += ["--cert", file_of(certificate, folder / "x.cert")]
        asked: dict[str, Any] = {"commitment": commitment, "min_bits": min_bits, "prompt": prompt, "text": text, "chat": chat, "audio": audio}
        asked["image"] = image
        if sampling is not None:
            asked |= {"seed": sampling.seed, "temperature": sampling.temperature, "top_k": sampling.top_k or None}
            asked["top_p"] = sampling.top_p if sampling.top_p < 1 else None
        if tokenizer is not None:
            asked["model" if os.path.isdir(tokenizer) else "tokenizer"] = tokenizer
        outcome = run([*arguments, *flags(asked)])
    if outcome.code not in (VALID, NOT_VALID) or outcome.result is None:
        raise error(outcome)
    return verdict_of(outcome.result, outcome.code == VALID, f"input {temp}{os.sep}input.npz: ")


def check_key(
    model: Any, key: Key | bytes | str | os.PathLike[str], *, progress: Progress = None, **options: Unpack[CheckKeyOptions]
) -> str:
    """Whether a key is a model's: makes it again from the model. Gives "" if it is, and else why it is not.

    The model is a path or a ModelProto: the very file that the key was made from."""
    with TemporaryDirectory() as temp:
        folder = Path(temp)
        arguments = ["check-key", "--model", as_file(model, None, folder), "--vk", file_of(key, folder / "x.vk"), *flags(options)]
        outcome = run(arguments, listen(progress))
    if outcome.code not in (VALID, NOT_VALID) or outcome.result is None:
        raise error(outcome)
    return "" if outcome.code == VALID else outcome.result["reason"] or "the command does not say why"


def inspect(
    model: Any = None,
    inputs: Inputs | None = None,
    *,
    key: Key | bytes | str | os.PathLike[str] | None = None,
    proof: Proof | bytes | str | os.PathLike[str] | None = None,
    **options: Unpack[InspectOptions],
) -> dict[str, Any]:
    """Describes a model, or a key, or a proof (with its key): what `prove-model inspect --json` prints."""
    with TemporaryDirectory() as temp:
        folder = Path(temp)
        arguments = ["inspect", *flags(options)]
        if isinstance(proof, Proof) and key is None:
            key = proof.key
        if proof is not None:
            arguments += ["--proof", file_of(proof, folder / "x.proof")]
        if key is not None:
            arguments += ["--vk", file_of(key, folder / "x.vk")]
        if model is not None:
            arguments += of_model(model, inputs, None, None, folder)
        description: dict[str, Any] = succeed(run(arguments)).result
        return description


def require_secret(options: Mapping[str, Any], why: str) -> None:
    """Raises ValueError unless there is a file for the secret: beside the key it would be removed with that."""
    if options.get("secret") is None:
        raise ValueError(f"{why}: name its file with secret=")


def of_model(model: Any, inputs: Inputs | None, calibration: Inputs | None, ranges: str | os.PathLike[str] | None, folder: Path) -> list[str]:
    """The flags that name a model and its arrays."""
    arguments = ["--model", as_file(model, calibration if inputs is None else inputs, folder)]
    for name, arrays in (("input", inputs), ("calibration", calibration)):
        if arrays is not None:
            arguments += [f"--{name}={file}" for file in write(arrays, folder / f"{name}.npz")]
    if ranges is not None:
        arguments += ["--ranges", os.fspath(ranges)]
    return arguments


def flags(options: Mapping[str, Any]) -> list[str]:
    """Flags of the command for options by their names in Python. None and False are left out."""
    arguments = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif isinstance(value, Mapping):
            arguments += [f"{flag}={k}={v}" for k, v in value.items()]
        elif isinstance(value, (list, tuple)):
            arguments += [f"{flag}={v}" for v in value]
        elif value is not None and value is not False:
            arguments.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return arguments


def listen(progress: Progress) -> Listener:
    return Listener(progress)


def file_of(content: Proof | Key | bytes | str | os.PathLike[str], path: Path) -> str:
    """A file with the content: the path itself if it is one."""
    if isinstance(content, Key) and content.vocabulary:  # the command looks for it beside the key
        vocabulary_of(path).write_bytes(content.vocabulary)
    if isinstance(content, (Proof, Key)):
        content = content.file
    if isinstance(content, (bytes, bytearray, memoryview)):
        path.write_bytes(content)
        return os.fspath(path)
    return os.fspath(content)


def vocabulary_in(vk: Path) -> bytes:
    """The vocabulary that the command wrote beside a key, of a model that takes strings or names classes."""
    return vocabulary_of(vk).read_bytes() if vocabulary_of(vk).exists() else b""


def succeed(outcome: Outcome) -> Outcome:
    if outcome.code != VALID:
        raise error(outcome)
    return outcome


def error(outcome: Outcome) -> ProveModelError:
    if outcome.code == INACCURATE:
        return InaccurateError(outcome.message, outcome.hint, outcome.result or {})
    return ProveModelError(outcome.message or f"the command ended with code {outcome.code} and said nothing", outcome.hint)
