"""Answers of a server, asked with the openai package, and verified."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import BadRequestError, OpenAI

from prove_model import InvalidProof, ProveModelError
from prove_model._command import command
from prove_model.client import Verifier, collect

ROOT = Path(__file__).parents[2]
STORY = ROOT / "testdata" / "story"
DIGITS = ROOT / "testdata" / "digits"
QUESTION: list[Any] = [{"role": "user", "content": "The capital of France is"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A server: its address, its models' commitments, and its public key."""
    folder = tmp_path_factory.mktemp("server")
    line = [str(command()), "serve", "--listen=127.0.0.1:0", f"--data={folder / 'data'}", "--no-cache", "--quiet", f"--model={STORY}",
            f"--model={DIGITS / 'digits.onnx'}", f"--calibration={DIGITS / 'calibration.json'}", "--prove=requested", "--batch=16"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = {}
        for text in process.stdout:
            what, _, rest = text.strip().partition(" ")
            rest = rest.strip()
            if what == "model":
                name, _, commitment = rest.partition(", commitment ")
                said[name] = commitment
            else:
                said[what] = rest.removeprefix("signed with ")
            if what == "receipts":
                break
        assert "ready" in said
        yield said
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture
def client(server: dict[str, str]) -> OpenAI:
    return OpenAI(base_url=server["ready"] + "/v1", api_key="none", max_retries=0)


@pytest.fixture
def verifier(server: dict[str, str]) -> Verifier:
    return Verifier(server["ready"], commitment=server["story"], public_key=server["receipts"])


def test_models(client: OpenAI) -> None:
    assert {m.id for m in client.models.list()} == {"story", "digits"}


def test_a_conversation(client: OpenAI, verifier: Verifier) -> None:
    raw = client.chat.completions.with_raw_response.create(model="story", messages=QUESTION)
    answer = raw.parse()
    assert answer.choices[0].message.content == " Paris. It lies on the Seine!" and answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None and answer.usage.total_tokens == 14
    checked = verifier.verify(raw)
    assert checked.require().text == " Paris. It lies on the Seine!" and checked.compared == ["request", "text"]
    # The parsed answer alone does as well, but for the request.
    assert verifier.verify(answer).compared == ["text"]
    # With the folder, its template writes the prompt.
    whole = Verifier(verifier.url, tokenizer=STORY).verify(raw)
    assert whole.compared == ["request", "text", "prompt"]


def test_what_is_drawn(client: OpenAI, verifier: Verifier) -> None:
    answer = client.chat.completions.create(model="story", messages=QUESTION, temperature=1.5, seed=20, top_p=0.9, stop=["!"], max_tokens=20)
    checked = verifier.verify(answer)
    assert checked and checked.receipt["sampling"]["seed"] == "20"
    assert answer.choices[0].message.content is not None and checked.require().text.startswith(answer.choices[0].message.content)


def test_logprobs(client: OpenAI, verifier: Verifier) -> None:
    answer = client.chat.completions.create(model="story", messages=QUESTION, logprobs=True, top_logprobs=2)
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None and logprobs.content is not None and logprobs.content[0].token == " Paris" and len(logprobs.content[0].top_logprobs) == 2
    assert verifier.verify(answer).compared == ["logprobs", "text"]
    changed = answer.model_dump(mode="json", exclude_unset=True)
    changed["choices"][0]["logprobs"]["content"][0]["logprob"] = -3
    assert "other logprobs" in verifier.verify(changed).reason
    text = client.completions.create(model="story", prompt="The capital of", logprobs=1)
    assert verifier.verify(text).compared == ["logprobs", "text"]


def test_streams(client: OpenAI, verifier: Verifier) -> None:
    chat = collect(client.chat.completions.create(model="story", messages=QUESTION, stream=True, stream_options={"include_usage": True}))
    assert verifier.verify(chat).require().text == " Paris. It lies on the Seine!"
    parts = list(client.completions.create(model="story", prompt="The capital of France is", stream=True))
    assert "".join(c.text for p in parts for c in p.choices) == " Paris. It lies on the Seine!"
    assert verifier.verify(collect(parts)).compared == ["text"]
    with pytest.raises(ProveModelError, match="cut short"):
        collect(parts[:2])


def test_other_answers(client: OpenAI, server: dict[str, str], verifier: Verifier) -> None:
    answer = client.completions.create(model="story", prompt="The capital of").model_dump(mode="json", exclude_unset=True)
    assert verifier.verify(answer)
    text = json.loads(json.dumps(answer))
    text["choices"][0]["text"] = " Lyon."
    assert "another text" in verifier.verify(text).reason
    receipt = json.loads(json.dumps(answer))
    receipt["receipt"]["tokens"][0] = 7
    checked = verifier.verify(receipt)
    assert not checked and "signature" in checked.reason
    with pytest.raises(InvalidProof):
        checked.require()
    assert "another request" in verifier.verify(answer, request="{}").reason
    assert not Verifier(server["ready"], commitment=server["digits"]).verify(answer)
    assert "another server" in Verifier(server["ready"], public_key="x" * 44).verify(answer).reason


def test_what_is_refused(client: OpenAI) -> None:
    with pytest.raises(BadRequestError, match="presence_penalty"):
        client.chat.completions.create(model="story", messages=QUESTION, presence_penalty=0.5)
    with pytest.raises(BadRequestError) as refused:
        client.completions.create(model="story", prompt="The", n=2)
    assert refused.value.param == "n"


def test_arrays(server: dict[str, str]) -> None:
    values = json.loads((DIGITS / "input.json").read_text())["input_data"][0]
    request = json.dumps({"inputs": [{"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32", "data": values}]}).encode()
    message = urllib.request.Request(server["ready"] + "/v2/models/digits/infer", request, {"Content-Type": "application/json"})
    with urllib.request.urlopen(message) as response:
        answer = response.read()
    checked = Verifier(server["ready"], commitment=server["digits"]).verify(answer, request)
    assert checked.compared == ["request", "outputs", "inputs"]
    assert checked.require().outputs["logits"].argmax() == max(range(10), key=json.loads(answer)["outputs"][0]["data"].__getitem__)


def test_answers_proved_together(client: OpenAI, verifier: Verifier) -> None:
    for attempt in range(10):  # those that wait while one is proved are proved together
        answers = [client.completions.create(model="story", prompt=[attempt + 1] * (n + 1), extra_body={"prove": True}) for n in range(6)]
        checked = [verifier.verify(a) for a in answers]
        assert all(checked) and all(c.compared == ["text"] for c in checked)
        together = [n for n, c in enumerate(checked) if c.texts > 1 and c.proof == checked[-1].proof]
        if len(together) > 1:
            break
    assert len(together) > 1, "nothing was proved together"
    one, other = together[-2:]
    assert checked[other].text_id == checked[one].text_id + 1 and checked[one].receipt["shared"] == "all"
    placed = verifier.placed(answers[one])
    assert placed["joint"]["text_id"] == checked[one].text_id and verifier.verify(placed).text_id == checked[one].text_id
    placed["joint"]["text_id"] += 1
    assert "signature" in verifier.verify(placed).reason
    # A request says that its text is to stand in no proof of others.
    alone = client.completions.create(model="story", prompt="The capital", extra_body={"alone": True})
    assert verifier.verify(alone).texts == 1 and "shared" not in alone.model_dump()["receipt"]
    # The receipt of one is not of a proof without its text.
    swapped = json.loads(json.dumps(alone.model_dump(mode="json", exclude_unset=True)))
    swapped["receipt"]["shared"] = "all"
    assert "signature" in verifier.verify(swapped).reason


def test_no_server() -> None:
    with pytest.raises(ProveModelError, match="cannot be reached"):
        Verifier("http://127.0.0.1:9").proof("0" * 64)
    with pytest.raises(ValueError, match="http"):
        Verifier("file:///etc/passwd")
    with pytest.raises(ProveModelError, match="no receipt"):
        Verifier("http://127.0.0.1:9").verify({})
