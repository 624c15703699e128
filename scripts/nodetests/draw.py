"""Draws small graphs and what ONNX Runtime makes of inputs at the ends of their types.

    python scripts/nodetests/draw.py FOLDER COUNT SEED

A graph has one to three operators on tensors of one type, or casts between types; some
floats differ by many powers of ten. A test is drawn/NAME/model.onnx with input_I.pb and output_I.pb, listed in index.json, as
scripts/nodetests reads them. Where ONNX Runtime has no kernel for a type, the reference
evaluator of the onnx package is asked. Graphs that neither runs are not counted, nor those
on which the two disagree, such as casts of numbers that a type does not hold: the number of
these is printed.
"""

import json
import os
import random
import sys
import warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]
TYPES = INTS + ["float32", "float32", "float16", "float64"]
ELEM = {t: helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in set(TYPES) | {"bool"}}
SHAPES = [[4], [2, 3], [1, 5], [2, 1, 4], [3, 1]]

BINARY = ["Add", "Sub", "Mul", "Div", "Min", "Max", "Add", "Sub", "Mul"]
UNARY = ["Neg", "Abs", "Sign", "Identity", "Clip", "Pow", "ReduceSum", "ReduceMax", "ReduceMean", "CumSum", "ReduceProd"]
FLOAT = ["Relu", "Sigmoid", "Tanh", "Floor", "Ceil", "Round", "LeakyRelu", "Exp", "Sqrt", "Softmax", "Erf", "Log", "Reciprocal", "Square and sum"]
COMPARE = ["Less", "Greater", "Equal", "LessOrEqual"]


def values(rng, dtype, shape):
    """Entries of a type: small ones, and now and then those at its ends."""
    n = int(np.prod(shape))
    if np.dtype(dtype).kind == "f":
        scale = rng.choice([1.0, 1.0, 8.0, 0.05, 100.0])
        v = np.array([rng.gauss(0, scale) for _ in range(n)])
        if rng.random() < 0.2:
            v = np.round(v)
        if rng.random() < 0.2:  # of many sizes, within what float16 has
            most = 4 if dtype == "float16" else 6
            v = np.array([10 ** rng.uniform(-most, most) for _ in range(n)])
            if rng.random() < 0.3:
                v *= [rng.choice([-1, 1]) for _ in range(n)]
        if dtype == "float64" and rng.random() < 0.3:  # that differ by less than floats do
            v = rng.choice([1.0, 1000.0]) + v * rng.choice([1e-8, 1e-5])
        return v.astype(dtype).reshape(shape)
    info = np.iinfo(dtype)
    most = rng.choice([4, 100, info.max])
    if rng.random() < 0.5:  # what a proof has room for
        most = min(most, 1 << 20)
    low, high = max(int(info.min), -most), min(int(info.max), most)
    v = [rng.choice([low, high, 0, 1]) if rng.random() < 0.3 else rng.randint(low, high) for _ in range(n)]
    return np.array(v, dtype=dtype).reshape(shape)


class Draw:
    def __init__(self, rng):
        self.rng = rng
        self.nodes, self.inputs, self.initializers, self.given = [], [], [], {}

    def value(self, dtype, shape, constant):
        name = f"{'c' if constant else 'x'}{len(self.inputs) + len(self.initializers)}"
        v = values(self.rng, dtype, shape)
        if constant:
            self.initializers.append(numpy_helper.from_array(v, name))
        else:
            self.inputs.append(helper.make_tensor_value_info(name, ELEM[dtype], shape))
            self.given[name] = v
        return name

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{len(self.nodes)}", **attributes))
        return name

    def step(self, x, dtype, shape):
        """One operator on x; returns its result's name and type."""
        rng = self.rng
        draw = rng.random()
        if draw < 0.45:
            op = rng.choice(BINARY)
            other = rng.choice([shape, [1], shape[-1:]])
            y = self.value(dtype, other, rng.random() < 0.6)
            if op == "Div":  # by zero is not defined
                v = self.given.get(y)
                if v is not None:
                    v[np.abs(v) < 1] = 1
                else:
                    t = self.initializers[-1]
                    v = numpy_helper.to_array(t).copy()
                    v[np.abs(v) < 1] = 1
                    self.initializers[-1] = numpy_helper.from_array(v, t.name)
            return self.node(op, [x, y] if rng.random() < 0.7 or op == "Div" else [y, x]), dtype
        if draw < 0.6:
            to = rng.choice(TYPES)
            return self.node("Cast", [x], to=ELEM[to]), to
        if draw < 0.66:
            y = self.value(dtype, shape, rng.random() < 0.5)
            self.node(rng.choice(COMPARE), [x, y])
            c = f"v{len(self.nodes) - 1}"
            return self.node("Where", [c, x, y]), dtype
        ops = UNARY + (FLOAT * 2 if np.dtype(dtype).kind == "f" else [])
        op = rng.choice(ops)
        if op == "Erf" and dtype == "float64":  # which has a float's precision in the reference
            op = "Tanh"
        if op == "Clip":
            lo, hi = sorted(values(rng, dtype, [2]).tolist())
            names = []
            for i, v in enumerate([lo, hi]):
                names.append(f"b{len(self.initializers)}")
                self.initializers.append(numpy_helper.from_array(np.array(v, dtype=dtype), names[-1]))
            return self.node(op, [x] + names), dtype
        if op == "Pow":
            name = f"e{len(self.initializers)}"
            self.initializers.append(numpy_helper.from_array(np.array(rng.choice([2, 2, 3]), dtype=dtype), name))
            return self.node(op, [x, name]), dtype
        if op == "Square and sum":  # by weights of one sign
            name = f"w{len(self.initializers)}"
            self.shape = shape[:-1] + [2]
            w = np.abs(values(rng, dtype, [shape[-1], 2]))
            self.initializers.append(numpy_helper.from_array(w, name))
            return self.node("MatMul", [self.node("Mul", [x, x]), name]), dtype
        if op == "CumSum":
            name = f"a{len(self.initializers)}"
            self.initializers.append(numpy_helper.from_array(np.array(len(shape) - 1, dtype=np.int64), name))
            return self.node(op, [x, name]), dtype
        if op.startswith("Reduce"):
            name = f"a{len(self.initializers)}"
            self.initializers.append(numpy_helper.from_array(np.array([len(shape) - 1], dtype=np.int64), name))
            self.shape = shape[:-1] + [1]
            return self.node(op, [x, name], keepdims=1), dtype
        return self.node(op, [x]), dtype

    def model(self):
        rng = self.rng
        self.shape = list(rng.choice(SHAPES))
        dtype = rng.choice(TYPES)
        x = self.value(dtype, self.shape, False)
        for _ in range(rng.randint(1, 3)):
            x, dtype = self.step(x, dtype, self.shape)
        graph = helper.make_graph(self.nodes, "drawn", self.inputs, [helper.make_tensor_value_info(x, ELEM[dtype], None)], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def run(model, given):
    """The outputs of ONNX Runtime, or of the reference evaluator where that has no kernel, and
    whether the two agree; nothing where neither runs the graph."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # As the operators stand in the file: rewriting them changes what overflows.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        outputs = ort.InferenceSession(model.SerializeToString(), options).run(None, given)
    except Exception:
        outputs = None
    try:
        reference = ReferenceEvaluator(model).run(None, given)
    except Exception:
        return outputs, True
    if outputs is None:
        return reference, True
    return outputs, all(same(o, r) for o, r in zip(outputs, reference))


def same(a, b):
    """Whether two results are the same integers, or floats that differ by rounding."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.allclose(a.astype(float), b.astype(float), rtol=2e-3, atol=2e-3 * max(1e-3, float(np.max(np.abs(a), initial=0))))


def main():
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    index, tried, differ = [], 0, 0
    while len(index) < count:
        rng = random.Random(f"{seed}/{tried}")
        tried += 1
        drawn = Draw(rng)
        model = drawn.model()
        outputs, agreed = run(model, drawn.given)
        if outputs is None or not all(np.all(np.isfinite(o)) for o in outputs):
            continue
        if not agreed:
            differ += 1
            continue
        name = f"drawn/{seed}_{tried - 1}"
        to = os.path.join(folder, name)
        os.makedirs(to)
        onnx.save(model, os.path.join(to, "model.onnx"))
        for i, (n, v) in enumerate(drawn.given.items()):
            with open(os.path.join(to, f"input_{i}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(v, n).SerializeToString())
        out = model.graph.output[0]
        v = np.asarray(outputs[0]).astype(helper.tensor_dtype_to_np_dtype(out.type.tensor_type.elem_type))
        with open(os.path.join(to, "output_0.pb"), "wb") as f:
            f.write(numpy_helper.from_array(v, out.name).SerializeToString())
        index.append({"name": name, "op": " ".join(n.op_type for n in model.graph.node), "odd": ""})
    with open(os.path.join(folder, "index.json"), "w") as f:
        json.dump({"onnx": onnx.__version__, "tests": index}, f)
    print(f"{count} graphs of {tried}; on {differ} ONNX Runtime and the reference evaluator disagree")


if __name__ == "__main__":
    main()
