"""Verifies the answers of a server, `prove-model serve`.

    from openai import OpenAI
    from prove_model.client import Verifier

    client = OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none")
    verifier = Verifier("http://127.0.0.1:8080", commitment=known)

    raw = client.chat.completions.with_raw_response.create(model="story", messages=[…])
    checked = verifier.verify(raw)                     # waits for the proof, fetches it, and verifies
    checked.require().text, checked.compared

Any client will do: verify takes an answer of the openai package, a dict, or JSON. Nothing but the public key of receipts and the
commitment, which you have from a source that you trust, is taken on the server's word.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ._api import NOT_VALID, VALID, error, flags
from ._command import run
from ._errors import ProveModelError
from ._results import Verdict, verdict_of

__all__ = ["Checked", "Verifier", "collect"]


@dataclass(frozen=True)
class Checked:
    """Whether an answer, its receipt and its proof hold together. True in a condition if and only if they do."""

    verdict: Verdict
    receipt: dict[str, Any] = field(repr=False)
    compared: list[str]
    """What the receipt was held against, beside the model, the tokens and its signature: request, text, prompt, inputs, outputs."""
    proof: bytes = field(repr=False)
    key: bytes = field(repr=False)
    text_id: int = 0
    """Which text of a proof of several the answer is, from 1 on; 0 of a proof of one."""
    texts: int = 1
    """How many texts the proof is of: whoever has it can read all of them."""

    def __bool__(self) -> bool:
        return self.verdict.valid

    @property
    def reason(self) -> str:
        """Why they do not, "" if they do."""
        return self.verdict.reason

    def require(self) -> Verdict:
        """The verdict of the proof. Raises InvalidProof if they do not hold together."""
        return self.verdict.require()


class Verifier:
    """Verifies answers of a server.

    url is the server's address, without /v1. commitment is the model's, and public_key the server's, in base64; with either None
    any is accepted, and a Checked says which it was. tokenizer is a file or the model's folder; by default the server's file is
    taken, which must have the digest that the key has. Only a folder has the template that makes a conversation into a prompt."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        commitment: str | None = None,
        public_key: str | None = None,
        tokenizer: str | os.PathLike[str] | None = None,
        min_bits: int = 100,
        timeout: float = 600.0,
    ) -> None:
        scheme = urllib.parse.urlsplit(url).scheme
        if scheme not in ("http", "https"):
            raise ValueError(f"the server's address begins with http:// or https://, not {scheme!r}")
        self.url = url.rstrip("/").removesuffix("/v1")
        self.api_key, self.commitment, self.public_key, self.tokenizer = api_key, commitment, public_key, tokenizer
        self.min_bits, self.timeout = min_bits, timeout

    def verify(self, answer: Any, request: bytes | str | None = None) -> Checked:
        """Has the proof of an answer made if need be, waits for it, and holds answer, receipt and proof together.

        answer is what the openai package gives, also with_raw_response, which knows the request; a dict; or JSON. request is the
        body of the request as it was sent. Raises ProveModelError if the server does not give the proof in time."""
        body, known = contents(answer)
        if request is None:
            request = known
        receipt = body.get("receipt", body)
        if not isinstance(receipt, dict) or not isinstance(receipt.get("proof"), str):
            raise ProveModelError("the answer has no receipt", "it is an answer of prove-model serve that has one")
        proof, key = self.proof(receipt["proof"]), self.fetch(f"/v1/keys/{quoted(receipt['commitment'])}")
        with TemporaryDirectory() as temp:
            folder = Path(temp)
            arguments = ["verify"]
            files = {"proof": proof, "vk": key, "receipt": json.dumps(body).encode()}
            if request is not None:
                files["request"] = request.encode() if isinstance(request, str) else request
            tokenizer = self.tokenizer
            if tokenizer is None and receipt.get("tokenizer"):
                files["tokenizer"] = self.fetch(f"/v1/models/{quoted(receipt['model'])}/tokenizer")
            for name, content in files.items():
                # A tokenizer's name says what it is: the SentencePiece model is no JSON.
                suffix = ".json" if name != "tokenizer" or content.lstrip()[:1] == b"{" else ".model"
                path = folder / (name + suffix)
                path.write_bytes(content)
                arguments.append(f"--{name}={path}")
            asked: dict[str, Any] = {"commitment": self.commitment, "receipt-key": self.public_key, "min_bits": self.min_bits}
            if tokenizer is not None:
                asked["model" if os.path.isdir(tokenizer) else "tokenizer"] = tokenizer
            outcome = run([*arguments, *flags(asked)])
        if outcome.code not in (VALID, NOT_VALID) or outcome.result is None:
            raise error(outcome)
        verdict = verdict_of(outcome.result, outcome.code == VALID, "")
        said = outcome.result.get("receipt") or {}
        result = outcome.result
        return Checked(verdict, receipt, said.get("compared", []), proof, key, result.get("text_id", 0), result.get("text_count", 1))

    def proof(self, name: str) -> bytes:
        """The file of a proof, which is made if nobody has asked for it. Raises ProveModelError if it is not there in time."""
        path, end = f"/v1/proofs/{quoted(name)}", time.monotonic() + self.timeout
        if json.loads(self.fetch(path))["state"] in ("kept", "failed"):
            self.fetch(path, b"")
        while True:
            status, content, after = self.send(path + "/file")
            if status == 200:
                return content
            if time.monotonic() > end:
                raise ProveModelError(f"the proof was not made in {self.timeout:.0f} seconds", "verify again later, or give the Verifier a longer timeout")
            time.sleep(min(after, 5.0))

    def placed(self, answer: Any) -> dict[str, Any]:
        """The receipt of an answer whose proof was made, signed anew with its place in a proof of several texts. verify takes it, too."""
        body, _ = contents(answer)
        receipt = body.get("receipt", body)
        placed: dict[str, Any] = json.loads(self.fetch(f"/v1/proofs/{quoted(receipt['proof'])}/receipt", json.dumps(receipt).encode()))
        return placed

    def fetch(self, path: str, body: bytes | None = None) -> bytes:
        return self.send(path, body)[1]

    def send(self, path: str, body: bytes | None = None) -> tuple[int, bytes, float]:
        """Status, content, and after how many seconds to ask again. A body is posted."""
        headers = {"Accept": "*/*", "Content-Type": "application/json"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        message = urllib.request.Request(self.url + path, data=body, headers=headers)
        for attempt in range(10):
            try:
                with urllib.request.urlopen(message, timeout=60) as response:
                    return response.status, response.read(), float(response.headers.get("Retry-After") or 1)
            except urllib.error.HTTPError as problem:
                with problem:
                    text = problem.read(1 << 16).decode("utf-8", "replace")
                if problem.code in (429, 503) and attempt < 9:
                    time.sleep(min(float(problem.headers.get("Retry-After") or 1), 5.0))
                    continue
                raise ProveModelError(f"{path}: status {problem.code}: {said(text)}") from None
            except urllib.error.URLError as problem:
                raise ProveModelError(f"the server at {self.url} cannot be reached: {problem.reason}") from None
        raise AssertionError("unreachable")


def collect(stream: Iterable[Any]) -> dict[str, Any]:
    """The answer that the chunks of a stream make, for verify."""
    text, last = "", None
    for chunk in stream:
        part, _ = contents(chunk)
        for choice in part.get("choices") or []:
            text += (choice.get("delta") or {}).get("content") or choice.get("text") or ""
        if "receipt" in part:
            last = part
    if last is None:
        raise ProveModelError("the stream ended without a receipt: the answer was cut short")
    return {**last, "choices": [{"index": 0, "text": text}]}


def contents(answer: Any) -> tuple[dict[str, Any], bytes | None]:
    """The body of an answer, and that of its request if it is known."""
    if isinstance(answer, (str, bytes)):
        return json.loads(answer), None
    if isinstance(answer, dict):
        return answer, None
    if hasattr(answer, "http_request"):  # of with_raw_response: the bytes of both
        return json.loads(answer.text if isinstance(answer.text, str) else answer.text()), answer.http_request.content
    if hasattr(answer, "model_dump"):
        return answer.model_dump(mode="json", exclude_unset=True), None
    raise TypeError(f"an answer is one of the openai package, a dict or JSON, not {type(answer).__name__}")


def quoted(part: str) -> str:
    return urllib.parse.quote(part, safe="")


def said(text: str) -> str:
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return text[:200]
