"""Writes the backend tests of the onnx package to a folder, for scripts/nodetests.

    python scripts/nodetests/write.py FOLDER

A test is KIND/NAME/model.onnx with input_I.pb and output_I.pb. index.json lists
the tests: name, operator, and why a test is not one of numeric tensors, if it is
not (a sequence, a string, a value that may be absent).
"""

import glob
import json
import os
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test import loader

NOT_NUMBERS = {TensorProto.STRING: "strings", TensorProto.COMPLEX64: "complex numbers", TensorProto.COMPLEX128: "complex numbers"}


def odd(model):
    """Says why the inputs and outputs are not all tensors of numbers; "" if they are."""
    for v in list(model.graph.input) + list(model.graph.output):
        kind = v.type.WhichOneof("value")
        if kind != "tensor_type":
            return kind.removesuffix("_type") if kind else "an input without a type"
        if v.type.tensor_type.elem_type in NOT_NUMBERS:
            return NOT_NUMBERS[v.type.tensor_type.elem_type]
    return ""


def operator(model, name, known):
    """The operator that a test is about: that of the test which it expands."""
    base = name.split("_expanded")[0]
    if "_expanded" in name and base in known:
        return known[base]
    counts = [n.op_type for n in model.graph.node]
    return counts[0] if len(counts) == 1 else "several"


def save(value, name, path):
    if not isinstance(value, TensorProto):
        value = numpy_helper.from_array(np.asarray(value), name)
    with open(path, "wb") as f:
        f.write(value.SerializeToString())


def write(folder, kind, name, model, data, index, known):
    reason = odd(model)
    op = operator(model, name, known)
    known[name] = op
    index.append({"name": f"{kind}/{name}", "op": op, "odd": reason})
    if reason:
        return
    to = os.path.join(folder, kind, name)
    os.makedirs(to)
    with open(os.path.join(to, "model.onnx"), "wb") as f:
        f.write(model.SerializeToString())
    for what, values, specs in zip(("input", "output"), data, (model.graph.input, model.graph.output)):
        for i, v in enumerate(values):
            save(v, specs[i].name, os.path.join(to, f"{what}_{i}.pb"))


def read(path):
    with open(path, "rb") as f:
        return onnx.load_tensor_from_string(f.read())


def main():
    folder = sys.argv[1]
    shutil.rmtree(folder, ignore_errors=True)
    index, known = [], {}
    np.random.seed(1)  # some tests draw their data
    warnings.simplefilter("ignore")
    for case in loader.load_node_model_tests():
        write(folder, "node", case.name, case.model, case.data_sets[0], index, known)
    for kind in ("simple", "pytorch-operator", "pytorch-converted"):
        for case in sorted(loader.load_model_tests(kind=kind), key=lambda c: c.name):
            if case.model_dir is None:
                continue
            model = onnx.load(os.path.join(case.model_dir, "model.onnx"))
            first = os.path.join(case.model_dir, "test_data_set_0")
            data = ([], [])
            if not odd(model):
                for what, values in zip(("input", "output"), data):
                    for i in range(len(glob.glob(os.path.join(first, what + "_*.pb")))):
                        values.append(read(os.path.join(first, f"{what}_{i}.pb")))
            write(folder, kind, case.name, model, data, index, known)
    with open(os.path.join(folder, "index.json"), "w") as f:
        json.dump({"onnx": onnx.__version__, "tests": index}, f, indent=1)
    print(f"{len(index)} tests of onnx {onnx.__version__}, {sum(not t['odd'] for t in index)} of them of numeric tensors")


main()
