#!/usr/bin/env python3
"""Train the bundled digits model and write testdata/digits.

A small convolutional network on scikit-learn's copy of the UCI "Optical
Recognition of Handwritten Digits" test set (1797 images of 8x8 pixels, values
0..16). Training is a plain NumPy loop, so that nothing heavier than
scikit-learn and onnx is needed; it takes about a minute.

    pip install numpy scikit-learn onnx onnxruntime
    python scripts/train_digits.py

The run is seeded and one thread suffices, but the last digits of the weights
depend on the BLAS in use: the files in testdata/ are the result of one run.
"""

import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 7
EPOCHS = 60
BATCH = 32
TEST = 540
OUT = pathlib.Path(__file__).resolve().parent.parent / "testdata" / "digits"


def windows(x, k, pad):
    """(n, c, h, w) -> (n, h', w', c*k*k): the k x k windows of the padded x."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    v = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))
    n, c, h, w = v.shape[:4]
    return np.ascontiguousarray(v.transpose(0, 2, 3, 1, 4, 5)).reshape(n, h, w, c * k * k)


class Conv:
    def __init__(self, rng, cin, cout, k):
        self.k, self.pad = k, k // 2
        self.w = rng.normal(0, np.sqrt(2 / (cin * k * k)), (cout, cin, k, k)).astype(np.float32)
        self.b = np.zeros(cout, np.float32)

    def forward(self, x):
        self.cols = windows(x, self.k, self.pad)
        self.cin = x.shape[1]
        y = self.cols @ self.w.reshape(len(self.w), -1).T + self.b
        return y.transpose(0, 3, 1, 2)

    def backward(self, dy):
        d = dy.transpose(0, 2, 3, 1)
        self.gw = np.tensordot(d, self.cols, ((0, 1, 2), (0, 1, 2))).reshape(self.w.shape)
        self.gb = d.sum((0, 1, 2))
        # The gradient to x is the correlation of dy with the flipped kernel.
        flipped = self.w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        dx = windows(dy, self.k, self.pad) @ flipped.reshape(self.cin, -1).T
        return dx.transpose(0, 3, 1, 2)


class Relu:
    def forward(self, x):
        self.on = x > 0
        return x * self.on

    def backward(self, dy):
        return dy * self.on


class MaxPool2:
    def forward(self, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(n, c, h // 2, w // 2, 4)
        self.arg, self.shape = blocks.argmax(-1), x.shape
        return blocks.max(-1)

    def backward(self, dy):
        n, c, h, w = self.shape
        d = np.zeros((*dy.shape, 4), dy.dtype)
        np.put_along_axis(d, self.arg[..., None], dy[..., None], -1)
        return d.reshape(n, c, h // 2, w // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(self.shape)


class Gemm:
    def __init__(self, rng, cin, cout):
        self.w = rng.normal(0, np.sqrt(2 / cin), (cout, cin)).astype(np.float32)
        self.b = np.zeros(cout, np.float32)

    def forward(self, x):
        self.shape = x.shape
        self.x = x.reshape(len(x), -1)
        return self.x @ self.w.T + self.b

    def backward(self, dy):
        self.gw, self.gb = dy.T @ self.x, dy.sum(0)
        return (dy @ self.w).reshape(self.shape)


def logits(layers, x):
    for layer in layers:
        x = layer.forward(x)
    return x


def shifted(rng, x):
    """Each image moved by up to one pixel: the only augmentation."""
    out = np.zeros_like(x)
    for i, (dy, dx) in enumerate(rng.integers(-1, 2, (len(x), 2))):
        out[i] = np.roll(np.pad(x[i], ((0, 0), (1, 1), (1, 1))), (dy, dx), (1, 2))[:, 1:-1, 1:-1]
    return out


def train(x, y):
    rng = np.random.default_rng(SEED)
    layers = [Conv(rng, 1, 12, 3), Relu(), Conv(rng, 12, 24, 3), Relu(), MaxPool2(),
              Conv(rng, 24, 32, 3), Relu(), MaxPool2(), Gemm(rng, 128, 64), Relu(), Gemm(rng, 64, 10)]
    trained = [l for l in layers if hasattr(l, "w")]
    moments = [[np.zeros_like(p) for p in (l.w, l.b) for _ in (0, 1)] for l in trained]
    steps, total = 0, EPOCHS * (len(x) // BATCH)
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for at in range(0, len(x) - BATCH + 1, BATCH):
            batch = order[at:at + BATCH]
            z = logits(layers, shifted(rng, x[batch]))
            p = np.exp(z - z.max(1, keepdims=True))
            d = p / p.sum(1, keepdims=True)
            d[np.arange(BATCH), y[batch]] -= 1
            d /= BATCH
            for layer in reversed(layers):
                d = layer.backward(d)
            steps += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * steps / total))
            for l, (mw, vw, mb, vb) in zip(trained, moments):
                for p, g, m, v in ((l.w, l.gw + 1e-3 * l.w, mw, vw), (l.b, l.gb, mb, vb)):
                    m += 0.1 * (g - m)
                    v += 0.001 * (g * g - v)
                    p -= rate * (m / (1 - 0.9**steps)) / (np.sqrt(v / (1 - 0.999**steps)) + 1e-8)
    return layers


def export(layers):
    nodes, consts, value = [], [], "image"
    for i, layer in enumerate(layers):
        kind, out = type(layer).__name__, f"{type(layer).__name__.lower()}{i}"
        inputs, attrs = [value], {}
        if hasattr(layer, "w"):
            consts += [numpy_helper.from_array(layer.w, f"w{i}"), numpy_helper.from_array(layer.b, f"b{i}")]
            inputs += [f"w{i}", f"b{i}"]
        if kind == "Conv":
            attrs = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        elif kind == "MaxPool2":
            kind, attrs = "MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}
        elif kind == "Gemm":
            attrs = {"transB": 1}
            if len(layer.shape) > 2:
                nodes.append(helper.make_node("Flatten", [value], ["flat"], name="flatten"))
                inputs[0] = "flat"
        if i == len(layers) - 1:
            out = "logits"
        nodes.append(helper.make_node(kind, inputs, [out], name=out, **attrs))
        value = out
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])], consts)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="train_digits.py")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def write_json(name, **fields):
    (OUT / name).write_text(json.dumps(fields, separators=(",", ":")) + "\n")


def main():
    pixels, labels = load_digits(return_X_y=True)
    images = (pixels / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    x, xt, y, yt = train_test_split(images, labels, test_size=TEST, random_state=SEED, stratify=labels)
    layers = train(x, y)
    model = export(layers)

    OUT.mkdir(parents=True, exist_ok=True)
    onnx.save(model, OUT / "digits.onnx")
    session = onnxruntime.InferenceSession(str(OUT / "digits.onnx"))
    guess = np.array([session.run(None, {"image": im[None]})[0][0].argmax() for im in xt])
    print(f"test accuracy {np.mean(guess == yt):.4f} on {len(yt)} images, "
          f"{sum(l.w.size + l.b.size for l in layers if hasattr(l, 'w'))} parameters, "
          f"{(OUT / 'digits.onnx').stat().st_size} bytes")

    # One array a graph input, several samples end to end; 1/16 is exact in JSON.
    write_json("input.json", input_data=[xt[0].ravel().tolist()])
    write_json("calibration.json", input_data=[x[:64].ravel().tolist()])
    write_json("test.json", input_data=[xt.ravel().tolist()], labels=yt.tolist())


if __name__ == "__main__":
    main()
