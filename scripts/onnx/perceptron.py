"""Writes a perceptron with random weights as ONNX with external data, a layer at a time:
    python3 scripts/onnx/perceptron.py LAYERS WIDTH FILE.onnx     needs onnx and numpy
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

layers, width, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
data = path + ".data"
rng = np.random.default_rng(1)
nodes, tensors, x = [], [], "x"
with open(data, "wb") as f:

    def constant(name, shape, limit):
        t = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        offset = f.tell()
        for _ in range(shape[0]):  # a row at a time
            f.write(rng.uniform(-limit, limit, shape[1:]).astype("<f4").tobytes())
        for key, value in (("location", data.rsplit("/", 1)[-1]), ("offset", offset), ("length", f.tell() - offset)):
            t.external_data.add(key=key, value=str(value))
        tensors.append(t)

    limit = (6 / width) ** 0.5
    for i in range(layers):
        constant(f"w{i}", [width, width], limit)
        constant(f"b{i}", [width], limit / 8)
        nodes.append(helper.make_node("Gemm", [x, f"w{i}", f"b{i}"], [f"g{i}"], transB=1))
        x = f"g{i}"
        if i < layers - 1:
            nodes.append(helper.make_node("Relu", [x], [f"r{i}"]))
            x = f"r{i}"
    nodes[-1].output[0] = "y"
io = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, width]) for n in ("x", "y")]
graph = helper.make_graph(nodes, "perceptron", io[:1], io[1:], tensors)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
