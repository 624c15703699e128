#!/usr/bin/env python3
"""Writes two convolutional networks with random weights, and an input for each.

    python3 scripts/onnx/networks.py FOLDER

They are for `prove-model bench model`: resnet18 (11 M parameters, 0.55 G
multiply-adds on 32×32 pixels) and mobilenet (depthwise convolutions, 60 k
parameters, on 64×64 pixels). Needs numpy and onnx.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """A graph under construction: every method adds a node and returns its output."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, values):
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def conv(self, x, inputs, outputs, kernel, stride=1, group=1):
        """A convolution and its batch norm."""
        rng, taps = self.rng, inputs // group * kernel**2
        weights = rng.normal(size=(outputs, inputs // group, kernel, kernel)) * np.sqrt(2 / taps)
        x = self.op("Conv", x, self.constant(weights), kernel_shape=[kernel] * 2,
                    strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)
        return self.op("BatchNormalization", x,
                       self.constant(rng.uniform(0.5, 1.5, outputs)), self.constant(rng.normal(size=outputs) * 0.1),
                       self.constant(rng.normal(size=outputs) * 0.1), self.constant(rng.uniform(0.5, 1.5, outputs)))

    def relu6(self, x):
        return self.op("Clip", x, self.constant(0), self.constant(6))

    def write(self, folder, name, shape, output):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, name, [value("x", TensorProto.FLOAT, shape)],
                                  [value(output, TensorProto.FLOAT, [1, 10])], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, folder / f"{name}.onnx")
        x = self.rng.normal(size=shape).flatten().tolist()
        (folder / f"{name}.json").write_text(json.dumps({"input_data": [x]}))


def resnet18(folder):
    n = Network(0)
    x = n.op("Relu", n.conv("x", 3, 64, 3))
    channels = 64
    for outputs, stride in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]:
        y = n.op("Relu", n.conv(x, channels, outputs, 3, stride))
        y = n.conv(y, outputs, outputs, 3)
        shortcut = x if channels == outputs else n.conv(x, channels, outputs, 1, stride)
        x, channels = n.op("Relu", n.op("Add", y, shortcut)), outputs
    x = n.op("Flatten", n.op("GlobalAveragePool", x))
    y = n.op("Gemm", x, n.constant(n.rng.normal(size=(10, 512)) * 0.05), n.constant(n.rng.normal(size=10) * 0.1), transB=1)
    n.write(folder, "resnet18", [1, 3, 32, 32], y)


def mobilenet(folder):
    n = Network(1)
    x, channels = n.relu6(n.conv("x", 3, 16, 3, 2)), 16
    for outputs, stride in [(24, 1), (32, 2), (64, 2), (64, 1)]:
        wide = 4 * channels
        y = n.relu6(n.conv(x, channels, wide, 1))
        y = n.op("HardSwish", n.conv(y, wide, wide, 3, stride, group=wide))
        y = n.conv(y, wide, outputs, 1)
        x, channels = (n.op("Add", x, y) if channels == outputs else y), outputs
    x = n.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.op("Flatten", n.op("GlobalAveragePool", x))
    y = n.op("Softmax", n.op("Gemm", x, n.constant(n.rng.normal(size=(channels, 10)) * 0.3)), axis=1)
    n.write(folder, "mobilenet", [1, 3, 64, 64], y)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    resnet18(target)
    mobilenet(target)
