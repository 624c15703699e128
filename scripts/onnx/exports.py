#!/usr/bin/env python3
"""Writes onnx/testdata/exports: tiny language models with random weights, as
torch exports them, each with tokens and the logits that onnxruntime gives.

    pip install onnx==1.23.2 onnxruntime==1.31.1 onnxscript==0.7.2 torch==2.15.0
    python scripts/onnx/exports.py onnx/testdata/exports
    python scripts/onnx/exports.py --shape nanogpt FOLDER     larger ones, or of the shape gpt2, for scripts/exports.sh

Every model is exported by the older exporter of torch (legacy) and by the newer one
(dynamo), for any number of texts and tokens or, where that is more, for one text.
"""

import argparse
import json
import os
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn
from torch.nn import functional

warnings.filterwarnings("ignore")
VOCABULARY, LONGEST, WIDTH, HEADS, LAYERS = 61, 24, 16, 2, 2


class Layer(nn.Module):
    """Attention and a perceptron, each on a norm of the stream and added to it."""

    def __init__(self, written_out):
        super().__init__()
        self.written_out = written_out
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.heads, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.curve = functional.gelu
        self.register_buffer("sees", torch.tril(torch.ones(LONGEST, LONGEST, dtype=torch.bool)))

    def forward(self, x):
        batch, n, _ = x.shape
        parts = self.heads(self.before(x)).reshape(batch, n, 3, HEADS, WIDTH // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        if self.written_out:
            scores = q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5
            scores = scores.masked_fill(~self.sees[:n, :n], float("-inf"))
            y = scores.softmax(-1) @ v
        else:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.join(y.transpose(1, 2).reshape(batch, n, WIDTH))
        return x + self.down(self.curve(self.up(self.between(x))))


class Decoder(nn.Module):
    """A decoder with learnt positions, whose embedding gives the logits too."""

    def __init__(self, written_out):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer(written_out) for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        for p in self.parameters():
            nn.init.normal_(p, 1 if p.dim() == 1 else 0, 0.1 if p.dim() == 1 else 1.2 / WIDTH**0.5)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.last(x) @ self.words.weight.T


class Columns(nn.Module):
    """GPT-2's linear layer: weights of [inputs, outputs], on rows of all texts."""

    def __init__(self, linear):
        super().__init__()
        self.weight, self.bias = nn.Parameter(linear.weight.T.contiguous()), linear.bias

    def forward(self, x):
        return torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight).reshape(*x.shape[:-1], -1)


class Curve(nn.Module):
    """GPT-2's GELU, written out."""

    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


def gpt2():
    """A decoder with the layers of GPT-2."""
    model = Decoder(True)
    for layer in model.layers:
        del layer.curve
        layer.curve = Curve()
        for name in ["heads", "join", "up", "down"]:
            setattr(layer, name, Columns(getattr(layer, name)))
    return model


def legacy(model, tokens, path, **options):
    axes = {} if tokens.shape[0] == 1 else {"dynamic_axes": {"tokens": {0: "batch", 1: "length"}}}
    torch.onnx.export(model, (tokens,), path, dynamo=False, input_names=["tokens"], output_names=["logits"], **axes, **options)


def dynamo(model, tokens, path, **options):
    shapes = {} if tokens.shape[0] == 1 else {"dynamic_shapes": {"tokens": {
        0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("length", min=2, max=LONGEST)}}}
    torch.onnx.export(model, (tokens,), path, dynamo=True, verbose=False, external_data=False, input_names=["tokens"],
                      output_names=["logits"], **shapes, **options)


CASES = {
    "decoder_legacy": (lambda: Decoder(True), legacy, 2, {"opset_version": 17}),
    "decoder_dynamo": (lambda: Decoder(True), dynamo, 2, {}),
    "decoder_sdpa_legacy": (lambda: Decoder(False), legacy, 2, {"opset_version": 17}),
    "decoder_sdpa_dynamo": (lambda: Decoder(False), dynamo, 2, {}),
    "decoder_attention": (lambda: Decoder(False), dynamo, 1, {"opset_version": 23}),
    "gpt2_legacy": (gpt2, legacy, 1, {"opset_version": 17}),
    "gpt2_dynamo": (gpt2, dynamo, 1, {}),
}


# Vocabulary, longest text, width, heads and layers of nanoGPT's model of characters and of
# GPT-2's smallest, and the cases of which there are such.
SHAPES = {"nanogpt": (65, 256, 384, 6, 6), "gpt2": (50257, 1024, 768, 12, 12)}
LARGE = ["decoder_sdpa_legacy", "decoder_sdpa_dynamo", "gpt2_legacy", "gpt2_dynamo"]


def main(folder, shape):
    global VOCABULARY, LONGEST, WIDTH, HEADS, LAYERS
    length = 10
    if shape:
        (VOCABULARY, LONGEST, WIDTH, HEADS, LAYERS), length = SHAPES[shape], 16
    os.makedirs(folder, exist_ok=True)
    for name, (make, export, batch, options) in CASES.items():
        if shape and name not in LARGE:
            continue
        torch.manual_seed(1)
        model = make().eval()
        tokens = torch.randint(0, VOCABULARY, (1 if shape else batch, length))
        path = os.path.join(folder, name + ".onnx")
        export(model, tokens, path, **options)
        exported = onnx.load(path)
        for n in exported.graph.node:  # where it was traced, which is of no use here
            n.doc_string = ""
            del n.metadata_props[:]
        onnx.save(exported, path)
        logits, = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"tokens": tokens.numpy()})
        if shape:
            for kind, arrays in {"": tokens, ".calibration": torch.randint(0, VOCABULARY, (4, length))}.items():
                np.savez(path.removesuffix(".onnx") + kind + ".npz", tokens=arrays.numpy())
            np.savez(path.removesuffix(".onnx") + ".want.npz", logits=logits)
            continue
        with open(os.path.join(folder, name + ".json"), "w") as f:
            json.dump({
                "input_data": [tokens.flatten().tolist()],
                "input_shapes": [list(tokens.shape)],
                "output_data": [[float(f"{v:.7g}") for v in np.asarray(logits, np.float64).ravel()]],
                "output_shapes": [list(logits.shape)],
            }, f)
            f.write("\n")


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("folder")
    a.add_argument("--shape", choices=list(SHAPES))
    a = a.parse_args()
    main(a.folder, a.shape)
