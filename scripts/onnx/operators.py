"""Writes onnx/testdata/operators: small models, one operator or pattern each,
with an input and the output that onnxruntime gives for it.

    scripts/venv.sh dist/onnx numpy==2.4.6 onnx==1.23.2 onnxruntime==1.31.1
    dist/onnx/bin/python scripts/onnx/operators.py onnx/testdata/operators [NAME...]

Each case is NAME.onnx and NAME.json (input_data, input_shapes, output_data). With names
these alone are written: the numbers are drawn one case after the other, so that a new
case changes those of all that follow it.
"""

import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(1)
F, I = np.float32, np.int64


def rand(*shape, lo=-2.0, hi=2.0):
    """Floats with three decimals, so that they are short in the JSON file."""
    return np.round(rng.uniform(lo, hi, shape), 3).astype(F)


def node(op, inputs, outputs, **attrs):
    return helper.make_node(op, inputs, outputs, **attrs)


CASES = {}


def case(name, opset, nodes, inputs, consts=None, outputs=("y",)):
    """inputs and consts map names to arrays; nodes is one node or a list."""
    assert name not in CASES, name
    CASES[name] = (opset, nodes if isinstance(nodes, list) else [nodes], inputs, consts or {}, outputs)


def unary(op, name=None, opset=13, lo=-4.0, hi=4.0, **attrs):
    case(name or op.lower(), opset, node(op, ["x"], ["y"], **attrs), {"x": rand(2, 5, lo=lo, hi=hi)})


# Element by element.
for op in ["Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Abs", "Neg", "Softplus", "Softsign", "Sin", "Cos"]:
    unary(op)
unary("Sqrt", lo=0.1)
unary("Log", lo=0.1)
unary("Reciprocal", lo=0.5)
unary("LeakyRelu", alpha=0.1)
unary("LeakyRelu", "leakyrelu_default")
unary("Elu", alpha=0.7)
unary("Selu")
unary("Celu", alpha=1.5)
unary("HardSigmoid", alpha=0.3, beta=0.4)
unary("HardSwish", opset=14)
unary("Mish", opset=18)
unary("Gelu", opset=20)
unary("Gelu", "gelu_tanh", opset=20, approximate="tanh")
unary("Clip", "clip_attributes", opset=10, min=-1.0, max=2.0)
case("clip_max_only", 13, node("Clip", ["x", "", "hi"], ["y"]), {"x": rand(7)}, {"hi": np.array(0.5, F)})
case("clip_relu6", 13, node("Clip", ["x", "lo", "hi"], ["y"]), {"x": rand(7, lo=-8, hi=8)},
     {"lo": np.array(0, F), "hi": np.array(6, F)})
case("prelu", 13, node("PRelu", ["x", "s"], ["y"]), {"x": rand(1, 3, 2, 2)}, {"s": rand(3, 1, 1)})
for op in ["Add", "Sub", "Mul"]:
    case(op.lower() + "_broadcast", 13, node(op, ["x", "c"], ["y"]), {"x": rand(2, 3, 4)}, {"c": rand(3, 1)})
    case(op.lower() + "_computed", 13, node(op, ["x", "z"], ["y"]), {"x": rand(2, 1, 4), "z": rand(3, 1)})
case("div_constant", 13, node("Div", ["x", "c"], ["y"]), {"x": rand(2, 3)}, {"c": rand(3, lo=1, hi=3)})
case("div_of_constant", 13, node("Div", ["c", "x"], ["y"]), {"x": rand(2, 3, lo=1)}, {"c": rand(3)})
case("div_computed", 13, node("Div", ["x", "z"], ["y"]), {"x": rand(2, 3), "z": rand(2, 1, lo=1, hi=3)})
case("sum", 13, node("Sum", ["x", "z", "c"], ["y"]), {"x": rand(2, 3), "z": rand(3)}, {"c": rand(2, 1)})
case("mean", 13, node("Mean", ["x", "z", "c"], ["y"]), {"x": rand(2, 3), "z": rand(3)}, {"c": rand(2, 1)})
case("max", 13, node("Max", ["x", "z", "c"], ["y"]), {"x": rand(2, 3), "z": rand(3)}, {"c": rand(2, 1)})
case("min", 13, node("Min", ["x", "z", "c"], ["y"]), {"x": rand(2, 3), "z": rand(3)}, {"c": rand(2, 1)})
case("max_scalar", 13, node("Max", ["c", "x"], ["y"]), {"x": rand(2, 3)}, {"c": rand(1, 1, 1)})
case("min_scalar", 13, node("Min", ["x", "c"], ["y"]), {"x": rand(2, 3)}, {"c": np.array(0.5, F)})
for name, e in [("1", 1.0), ("2", 2.0), ("3", 3.0), ("half", 0.5), ("minus1", -1.0), ("frac", 1.7)]:
    case("pow_" + name, 13, node("Pow", ["x", "e"], ["y"]), {"x": rand(2, 3, lo=0.5, hi=3)}, {"e": np.array(e, F)})
case("pow_int_exponent", 13, node("Pow", ["x", "e"], ["y"]), {"x": rand(2, 3)}, {"e": np.array([2], I)})
case("cast_to_int", 13, [node("Cast", ["x"], ["i"], to=TensorProto.INT32), node("Cast", ["i"], ["y"], to=TensorProto.FLOAT)],
     {"x": rand(9, lo=-5, hi=5)})
case("cast_double", 13, [node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE), node("Relu", ["d"], ["r"]),
     node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)], {"x": rand(5)})
case("where", 13, node("Where", ["m", "x", "c"], ["y"]), {"x": rand(2, 3)},
     {"m": np.array([[True], [False]]), "c": rand(3)})
case("where_computed_condition_folds", 13, [
    node("Equal", ["a", "b"], ["e"]), node("Not", ["e"], ["n"]), node("And", ["n", "n"], ["m"]),
    node("Where", ["m", "x", "c"], ["y"])],
    {"x": rand(4)}, {"a": np.array([1, 2, 3, 4], I), "b": np.array([1, 0, 3, 0], I), "c": np.array(-1.0, F)})

# Products.
case("gemm", 13, node("Gemm", ["x", "w", "b"], ["y"]), {"x": rand(2, 3)}, {"w": rand(3, 4), "b": rand(4)})
case("gemm_transposed_scaled", 13, node("Gemm", ["x", "w", "b"], ["y"], transA=1, transB=1, alpha=0.5, beta=2.0),
     {"x": rand(3, 2)}, {"w": rand(4, 3), "b": rand(2, 1)})
case("gemm_no_c", 13, node("Gemm", ["x", "w"], ["y"], alpha=1.5), {"x": rand(2, 3)}, {"w": rand(3, 4)})
case("gemm_computed", 13, node("Gemm", ["x", "z", "v"], ["y"], transB=1, alpha=0.5, beta=0.25),
     {"x": rand(2, 3), "z": rand(4, 3), "v": rand(1, 4)})
for name, a, b in [("2d", (2, 3), (3, 4)), ("3d_2d", (2, 2, 3), (3, 4)), ("4d", (2, 1, 2, 3), (1, 3, 3, 2)),
                   ("vector_matrix", (3,), (3, 4)), ("matrix_vector", (2, 2, 3), (3,)), ("vectors", (3,), (3,)),
                   ("2d_3d", (2, 3), (2, 3, 2))]:
    case("matmul_" + name, 13, node("MatMul", ["x", "w"], ["y"]), {"x": rand(*a)}, {"w": rand(*b)})
    case("matmul_computed_" + name, 13, node("MatMul", ["x", "z"], ["y"]), {"x": rand(*a), "z": rand(*b)})
case("matmul_constant_first", 13, node("MatMul", ["w", "x"], ["y"]), {"x": rand(3, 2)}, {"w": rand(4, 3)})


def conv(name, x, w, bias=True, opset=13, **attrs):
    consts = {"w": rand(*w)}
    if bias:
        consts["b"] = rand(w[0])
    case("conv_" + name, opset, node("Conv", ["x"] + list(consts), ["y"], **attrs), {"x": rand(*x)}, consts)


conv("1d", (1, 2, 7), (3, 2, 3), pads=[1, 2], strides=[2])
conv("2d", (1, 2, 5, 4), (3, 2, 3, 2), kernel_shape=[3, 2])
conv("2d_no_bias", (2, 2, 4, 4), (3, 2, 1, 1), bias=False)
conv("asymmetric_pads", (1, 1, 4, 4), (2, 1, 3, 3), pads=[0, 1, 2, 0], strides=[2, 1])
conv("dilation", (1, 1, 7, 7), (1, 1, 3, 2), dilations=[2, 3], pads=[1, 1, 1, 1])
conv("groups", (1, 4, 3, 3), (6, 2, 2, 2), group=2)
conv("depthwise", (1, 3, 4, 4), (3, 1, 3, 3), group=3, pads=[1, 1, 1, 1])
conv("same_upper", (1, 1, 5, 6), (1, 1, 2, 3), auto_pad="SAME_UPPER", strides=[2, 2])
conv("same_lower", (1, 1, 5, 6), (1, 1, 2, 3), auto_pad="SAME_LOWER", strides=[2, 2])
conv("valid", (1, 1, 5, 6), (1, 1, 2, 3), auto_pad="VALID", strides=[1, 2])
case("conv_computed_weights", 13, node("Conv", ["x", "z"], ["y"], pads=[1, 1, 1, 1]),
     {"x": rand(1, 2, 3, 3), "z": rand(2, 2, 3, 3)})

# Normalisation.
stats = lambda c: {"s": rand(c, lo=0.5), "t": rand(c), "m": rand(c), "v": rand(c, lo=0.5)}
bn = ["s", "t", "m", "v"]
case("batchnorm", 15, node("BatchNormalization", ["x"] + bn, ["y"], epsilon=1e-3), {"x": rand(2, 3, 2)}, stats(3))
case("batchnorm_opset7", 7, node("BatchNormalization", ["x"] + bn, ["y"]), {"x": rand(1, 3, 2, 2)}, stats(3))
case("batchnorm_after_conv", 13, [node("Conv", ["x", "w", "b"], ["c"]), node("BatchNormalization", ["c"] + bn, ["y"])],
     {"x": rand(1, 2, 4, 4)}, {"w": rand(3, 2, 3, 3), "b": rand(3), **stats(3)})
case("batchnorm_after_conv_no_bias", 13, [node("Conv", ["x", "w"], ["c"], group=3), node("BatchNormalization", ["c"] + bn, ["y"])],
     {"x": rand(1, 3, 4, 4)}, {"w": rand(3, 1, 3, 3), **stats(3)})
case("batchnorm_after_gemm", 13, [node("Gemm", ["x", "w", "b"], ["c"], alpha=0.5, beta=3.0), node("BatchNormalization", ["c"] + bn, ["y"])],
     {"x": rand(2, 3)}, {"w": rand(3, 4), "b": rand(4), **stats(4)})
case("batchnorm_after_gemm_transposed", 13, [node("Gemm", ["x", "w"], ["c"], transB=1), node("BatchNormalization", ["c"] + bn, ["y"])],
     {"x": rand(2, 3)}, {"w": rand(4, 3), **stats(4)})
case("batchnorm_after_shared_conv", 13, [node("Conv", ["x", "w"], ["c"]), node("BatchNormalization", ["c"] + bn, ["n"]), node("Add", ["c", "n"], ["y"])],
     {"x": rand(1, 2, 3, 3)}, {"w": rand(3, 2, 2, 2), **stats(3)})
case("layernorm", 17, node("LayerNormalization", ["x", "s", "t"], ["y"]), {"x": rand(2, 3, 4)}, {"s": rand(4), "t": rand(4)})
case("layernorm_axis1_no_bias", 17, node("LayerNormalization", ["x", "s"], ["y"], axis=1, epsilon=1e-2),
     {"x": rand(2, 3, 4)}, {"s": rand(3, 4)})


# Pooling.
def pool(name, op, x, opset=13, **attrs):
    case(name, opset, node(op, ["x"], ["y"], **attrs), {"x": rand(*x)})


pool("maxpool", "MaxPool", (1, 2, 4, 4), kernel_shape=[2, 2], strides=[2, 2])
pool("maxpool_1d", "MaxPool", (1, 2, 7), kernel_shape=[3], strides=[2], pads=[1, 1])
pool("maxpool_pads", "MaxPool", (1, 1, 5, 5), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 2, 1])
pool("maxpool_ceil", "MaxPool", (1, 1, 6, 5), kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1)
pool("maxpool_ceil_in_padding", "MaxPool", (1, 1, 4, 4), kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1], ceil_mode=1)
pool("maxpool_dilation", "MaxPool", (1, 1, 6, 6), kernel_shape=[2, 2], dilations=[2, 3])
pool("maxpool_same", "MaxPool", (1, 1, 5, 5), kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_UPPER")
pool("averagepool", "AveragePool", (1, 2, 4, 4), kernel_shape=[2, 2], strides=[2, 2])
pool("averagepool_1d", "AveragePool", (1, 2, 7), kernel_shape=[3], strides=[2])
pool("averagepool_pads", "AveragePool", (1, 2, 5, 5), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 2])
pool("averagepool_count_pads", "AveragePool", (1, 2, 5, 5), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 2], count_include_pad=1)
pool("averagepool_ceil", "AveragePool", (1, 1, 6, 5), opset=19, kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1)
pool("averagepool_ceil_count_pads", "AveragePool", (1, 1, 6, 6), opset=19, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1, count_include_pad=1)
pool("averagepool_same", "AveragePool", (1, 1, 5, 5), kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_LOWER")
pool("averagepool_dilation", "AveragePool", (1, 1, 6, 6), opset=19, kernel_shape=[2, 2], dilations=[2, 3], pads=[1, 1, 0, 0])
pool("globalaveragepool", "GlobalAveragePool", (2, 3, 4, 2))
pool("globalmaxpool", "GlobalMaxPool", (2, 3, 4, 2))

# Reductions.
pool("reducemean", "ReduceMean", (2, 3, 4), opset=11, axes=[-1])
pool("reducemean_all", "ReduceMean", (2, 3), opset=11, keepdims=0)
pool("reducesum", "ReduceSum", (2, 3, 4), opset=11, axes=[2, 0], keepdims=0)
case("reducesum_input", 13, node("ReduceSum", ["x", "a"], ["y"]), {"x": rand(2, 3, 4)}, {"a": np.array([1], I)})
case("reducesum_noop", 13, node("ReduceSum", ["x"], ["y"], noop_with_empty_axes=1), {"x": rand(2, 3)})
case("reducemean_input", 18, node("ReduceMean", ["x", "a"], ["y"], keepdims=0), {"x": rand(2, 3, 4)}, {"a": np.array([-1, 0], I)})
pool("reducel1", "ReduceL1", (2, 3), axes=[1])
pool("reducel2", "ReduceL2", (2, 3), axes=[1])
pool("reducesumsquare", "ReduceSumSquare", (2, 3), axes=[0])
pool("softmax", "Softmax", (2, 3, 4))
pool("softmax_axis", "Softmax", (2, 3, 4), axis=0)
pool("softmax_flattens", "Softmax", (2, 3, 4), opset=11, axis=1)
pool("softmax_opset7_default", "Softmax", (2, 3, 2), opset=7)

# Moving.
pool("flatten", "Flatten", (2, 3, 4), axis=2)
pool("flatten_axis0", "Flatten", (2, 3), axis=0)
case("reshape", 13, node("Reshape", ["x", "s"], ["y"]), {"x": rand(2, 3, 4)}, {"s": np.array([0, -1, 2], I)})
pool("transpose", "Transpose", (2, 3, 4), perm=[1, 2, 0])
pool("transpose_default", "Transpose", (2, 3, 4))
pool("squeeze_opset11", "Squeeze", (1, 3, 1, 2), opset=11, axes=[-2])
pool("squeeze_all", "Squeeze", (1, 3, 1, 2))
case("squeeze_input", 13, node("Squeeze", ["x", "a"], ["y"]), {"x": rand(1, 3, 1)}, {"a": np.array([0], I)})
pool("unsqueeze_opset11", "Unsqueeze", (3, 2), opset=11, axes=[0, 3])
case("unsqueeze_input", 13, node("Unsqueeze", ["x", "a"], ["y"]), {"x": rand(3, 2)}, {"a": np.array([-1, 1], I)})
pool("slice_attributes", "Slice", (4, 5), opset=9, starts=[1, -3], ends=[9, -1], axes=[0, 1])
case("slice_steps", 13, node("Slice", ["x", "b", "e", "a", "s"], ["y"]), {"x": rand(4, 7)},
     {"b": np.array([1, -1], I), "e": np.array([2**63 - 1, -(2**63)], I), "a": np.array([0, -1], I), "s": np.array([2, -3], I)})
case("slice_int32", 13, node("Slice", ["x", "b", "e"], ["y"]), {"x": rand(4, 3)},
     {"b": np.array([1], np.int32), "e": np.array([3], np.int32)})
case("split_attribute", 11, node("Split", ["x"], ["y", "z"], axis=1, split=[1, 3]), {"x": rand(2, 4)}, outputs=("y", "z"))
case("split_input", 13, node("Split", ["x", "s"], ["y", "z"], axis=-1), {"x": rand(2, 4)}, {"s": np.array([3, 1], I)}, outputs=("z", "y"))
case("split_equal", 13, node("Split", ["x"], ["y", "z"]), {"x": rand(4, 2)}, outputs=("y", "z"))
case("split_num_outputs", 18, node("Split", ["x"], ["y", "z", "w"], num_outputs=3), {"x": rand(7, 2)}, outputs=("y", "z", "w"))
case("gather_scalar", 13, node("Gather", ["x", "i"], ["y"], axis=1), {"x": rand(2, 3, 2)}, {"i": np.array(-1, I)})
case("gather_matrix", 13, node("Gather", ["x", "i"], ["y"], axis=1), {"x": rand(2, 4)}, {"i": np.array([[0, 3], [3, 1]], I)})
case("gather_progression", 13, node("Gather", ["x", "i"], ["y"]), {"x": rand(6, 2)}, {"i": np.array([5, 3, 1], I)})
pool("pad_attributes", "Pad", (2, 3), opset=10, pads=[0, 1, 2, -1], value=0.5)
for mode in ["reflect", "edge", "wrap"]:
    case("pad_" + mode, 19, node("Pad", ["x", "p"], ["y"], mode=mode), {"x": rand(3, 4)}, {"p": np.array([1, 2, 2, 1], I)})
case("pad_value", 13, node("Pad", ["x", "p", "v"], ["y"]), {"x": rand(2, 2)}, {"p": np.array([1, 0, 0, 1], I), "v": np.array(1.5, F)})
case("pad_axes", 18, node("Pad", ["x", "p", "", "a"], ["y"]), {"x": rand(2, 2, 2)}, {"p": np.array([1, 2], I), "a": np.array([-1], I)})
case("concat", 13, node("Concat", ["x", "c", "x"], ["y"], axis=-1), {"x": rand(2, 3)}, {"c": rand(2, 1)})
case("expand", 13, node("Expand", ["x", "s"], ["y"]), {"x": rand(3, 1)}, {"s": np.array([2, 1, 4], I)})
case("tile", 13, node("Tile", ["x", "r"], ["y"]), {"x": rand(2, 3)}, {"r": np.array([2, 2], I)})

# Graphs.
case("dropout_identity", 13, [node("Dropout", ["x", "r"], ["d", "mask"]), node("Identity", ["d"], ["y"])],
     {"x": rand(3)}, {"r": np.array(0.3, F)})
case("output_used_inside", 13, [node("Relu", ["x"], ["y"]), node("Identity", ["y"], ["z"]), node("Neg", ["z"], ["w"])],
     {"x": rand(3)}, outputs=("y", "z", "w"))
case("constant_output", 13, [node("Relu", ["x"], ["y"]), node("Add", ["a", "b"], ["z"])],
     {"x": rand(3)}, {"a": rand(2), "b": rand(2)}, outputs=("z", "y"))
case("shape_arithmetic", 13, [
    node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Unsqueeze", ["n", "axes"], ["n1"]),
    node("Mul", ["n1", "two"], ["n2"]), node("Concat", ["n2", "rest"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])],
    {"x": rand(2, 6)}, {"zero": np.array(0, I), "axes": np.array([0], I), "two": np.array([2], I), "rest": np.array([-1], I)})
case("mask_from_range", 13, [
    node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["n"]), node("Range", ["zero", "n", "one"], ["r"]),
    node("Less", ["r", "three"], ["m"]), node("Cast", ["m"], ["f"], to=TensorProto.FLOAT), node("Mul", ["x", "f"], ["y"])],
    {"x": rand(2, 5)}, {"zero": np.array(0, I), "one": np.array(1, I), "three": np.array(3, I)})
case("constant_of_shape", 13, [
    node("ConstantOfShape", ["s"], ["c"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [1.25])),
    node("Sub", ["x", "c"], ["y"])], {"x": rand(2, 2)}, {"s": np.array([2, 2], I)})
case("constant_types", 13, [
    node("Constant", [], ["h"], value=numpy_helper.from_array(np.array([1.5, -6e-8], np.float16))),
    node("Constant", [], ["d"], value=numpy_helper.from_array(np.array([0.1, 2.5], np.float64))),
    node("Constant", [], ["i"], value=numpy_helper.from_array(np.array([-3, 4], np.int8))),
    node("Constant", [], ["f"], value_floats=[0.25, 4.0]),
    node("Cast", ["h"], ["hf"], to=1), node("Cast", ["d"], ["df"], to=1), node("Cast", ["i"], ["if"], to=1),
    node("Sum", ["x", "hf", "df", "if", "f"], ["y"])], {"x": rand(2)})
case("div_of_integers_folds", 13, [
    node("Div", ["a", "b"], ["q"]), node("Mod", ["a", "b"], ["r"]), node("Concat", ["q", "r"], ["l"], axis=0), node("Cast", ["l"], ["f"], to=1),
    node("Add", ["x", "f"], ["y"])], {"x": rand(4)}, {"a": np.array([-7, 7], I), "b": np.array([2, 2], I)})
case("integer_folding", 13, [
    node("Max", ["a", "b"], ["p"]), node("Min", ["a", "b"], ["q"]), node("Neg", ["a"], ["r"]), node("Abs", ["a"], ["t"]),
    node("ReduceProd", ["b"], ["u"], keepdims=1), node("ReduceMax", ["a"], ["v"], keepdims=1), node("ReduceMin", ["a"], ["w"], keepdims=1),
    node("Size", ["a"], ["z0"]), node("Reshape", ["z0", "one"], ["z"]), node("Sign", ["a"], ["sg"]), node("Mod", ["a", "b"], ["fm"], fmod=1),
    node("Sub", ["a", "b"], ["dr"]),
    node("Concat", ["p", "q", "r", "t", "u", "v", "w", "z", "sg", "fm", "dr"], ["l"], axis=0), node("Cast", ["l"], ["f"], to=1),
    node("Add", ["x", "f"], ["y"])], {"x": rand(1)}, {"a": np.array([-7, 5], I), "b": np.array([2, -3], I), "one": np.array([1], I)})
case("float_folding", 13, [
    node("Floor", ["a"], ["p"]), node("Ceil", ["a"], ["q"]), node("Round", ["a"], ["r"]), node("Sign", ["a"], ["s"]),
    node("Pow", ["b", "a"], ["t"]), node("ReduceMax", ["a"], ["u"]), node("ReduceMin", ["a"], ["v"]), node("ReduceProd", ["a"], ["w"]),
    node("Max", ["a", "b"], ["z"]), node("Min", ["a", "b"], ["z1"]),
    node("Concat", ["p", "q", "r", "s", "t", "u", "v", "w", "z", "z1"], ["l"], axis=0), node("Mul", ["x", "l"], ["y"])],
    {"x": rand(1)}, {"a": np.array([-1.5, 2.5, 0.0], F), "b": np.array([2, 0.5, 3], F)})
case("comparison_folding", 16, [
    node("Less", ["a", "b"], ["p"]), node("LessOrEqual", ["a", "b"], ["q"]), node("Greater", ["a", "b"], ["r"]), node("GreaterOrEqual", ["a", "b"], ["s"]),
    node("Equal", ["a", "b"], ["t"]), node("Or", ["p", "s"], ["u"]), node("Xor", ["q", "r"], ["v"]),
    node("Concat", ["p", "q", "r", "s", "t", "u", "v"], ["l"], axis=0), node("Where", ["l", "x", "c"], ["y"])],
    {"x": rand(1)}, {"a": np.array([1, 2, 3], F), "b": np.array([2, 2, 2], F), "c": np.array(9, F)})
case("cast_folding", 13, [
    node("Cast", ["a"], ["i"], to=TensorProto.INT8), node("Cast", ["a"], ["b"], to=TensorProto.BOOL), node("Cast", ["i"], ["j"], to=TensorProto.INT64),
    node("Cast", ["b"], ["bf"], to=1), node("Cast", ["j"], ["jf"], to=1), node("Sum", ["x", "bf", "jf"], ["y"])],
    {"x": rand(4)}, {"a": np.array([-1.7, 0, 2.2, 100], F)})
case("constant_attributes", 15, [
    node("Constant", [], ["i"], value_int=3), node("Constant", [], ["l"], value_ints=[2, -1]), node("Constant", [], ["f"], value_float=0.5),
    node("Cast", ["i"], ["if"], to=1), node("Reshape", ["x", "l"], ["r"]), node("Shape", ["r"], ["s"], start=-1),
    node("Cast", ["s"], ["sf"], to=1), node("Sum", ["r", "if", "f", "sf"], ["y"])], {"x": rand(6)})
case("nothing_to_do", 13, [
    node("Expand", ["x", "s"], ["a"]), node("Tile", ["a", "s"], ["b"]), node("Expand", ["b", "t"], ["c"]), node("Concat", ["c"], ["d"], axis=0),
    node("Slice", ["d", "zero", "end"], ["e"]), node("Transpose", ["e"], ["f"], perm=[0, 1, 2]), node("Sum", ["f"], ["g"]), node("Relu", ["g"], ["y"])],
    {"x": rand(2, 3)}, {"s": np.array([1, 1], I), "t": np.array([1, 1, 1], I), "zero": np.array([0], I), "end": np.array([2**31 - 1], I)})
case("integer_input", 13, [
    node("Mul", ["x", "c"], ["m"]), node("Cast", ["m"], ["f"], to=1), node("Tanh", ["f"], ["t"]), node("Add", ["t", "z"], ["y"])],
    {"x": np.array([[1, -2, 3]], I), "z": rand(3)}, {"c": np.array([2], I)})
case("gelu_of_another_domain", 13, helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft"), {"x": rand(4)})

# More functions of one number. New ones come last, so that the others keep their inputs.
unary("Tan", lo=-1.2, hi=1.2)
unary("Asin", lo=-1, hi=1)
unary("Acos", lo=-1, hi=1)
unary("Atan")
unary("Sinh")
unary("Cosh")
unary("Asinh")
unary("Acosh", lo=1)
unary("Atanh", lo=-0.95, hi=0.95)

# What several operators together mean: norms and masks.
pool("logsoftmax", "LogSoftmax", (2, 3, 4), axis=1)
case("log_of_softmax", 13, [node("Softmax", ["x"], ["s"]), node("Log", ["s"], ["y"])], {"x": rand(2, 5)})
case("rmsnorm_written_out", 18, [
    node("Pow", ["x", "two"], ["p"]), node("ReduceMean", ["p", "axes"], ["m"]), node("Add", ["m", "eps"], ["a"]), node("Sqrt", ["a"], ["r"]),
    node("Reciprocal", ["r"], ["i"]), node("Mul", ["x", "i"], ["n"]), node("Mul", ["n", "w"], ["y"])],
    {"x": rand(2, 3, 6)}, {"two": np.array(2, F), "axes": np.array([-1], I), "eps": np.array(1e-5, F), "w": rand(6)})
case("layernorm_written_out", 13, [
    node("ReduceMean", ["x"], ["m"], axes=[-1]), node("Sub", ["x", "m"], ["d"]), node("Pow", ["d", "two"], ["p"]), node("ReduceMean", ["p"], ["v"], axes=[-1]),
    node("Add", ["v", "eps"], ["a"]), node("Sqrt", ["a"], ["r"]), node("Div", ["d", "r"], ["n"]), node("Mul", ["n", "w"], ["s"]), node("Add", ["s", "b"], ["y"])],
    {"x": rand(2, 3, 6)}, {"two": np.array(2, F), "eps": np.array(1e-5, F), "w": rand(6), "b": rand(6)})
case("rmsnorm", 23, node("RMSNormalization", ["x", "s"], ["y"], axis=1, epsilon=1e-3), {"x": rand(2, 3, 4)}, {"s": rand(3, 4)})
pool("lpnorm", "LpNormalization", (2, 3, 4), axis=1)
case("normalize", 18, [
    node("ReduceL2", ["x", "axes"], ["l"]), node("Clip", ["l", "least"], ["c"]), node("Expand", ["c", "shape"], ["e"]), node("Div", ["x", "e"], ["y"])],
    {"x": rand(2, 4, 3)}, {"axes": np.array([1], I), "least": np.array(1e-12, F), "shape": np.array([2, 4, 3], I)})
case("masked_softmax", 13, [node("Add", ["x", "mask"], ["a"]), node("Softmax", ["a"], ["y"])],
     {"x": rand(2, 3, 3)}, {"mask": np.triu(np.full((3, 3), -np.inf, F), 1)})
case("masked_softmax_where", 13, [node("Where", ["mask", "x", "low"], ["a"]), node("Softmax", ["a"], ["y"])],
     {"x": rand(2, 3, 3)}, {"mask": np.tril(np.ones((3, 3), bool)), "low": np.array(np.finfo(F).min, F)})
case("clip_turned", 13, node("Clip", ["x", "lo", "hi"], ["y"]), {"x": rand(5)}, {"lo": np.array(1, F), "hi": np.array(-0.5, F)})
case("gemm_of_constants", 13, node("Gemm", ["a", "b", "x"], ["y"], alpha=0.5, beta=2.0, transA=1),
     {"x": rand(2, 3)}, {"a": rand(4, 2), "b": rand(4, 3)})

# Indices that are an input.
case("gather_tokens", 17, node("Gather", ["e", "ids"], ["y"]), {"ids": np.array([[3, 0, 8], [8, 8, 1]], I)}, {"e": rand(9, 4)})
case("gather_of_computed", 17, [node("Relu", ["x"], ["r"]), node("Gather", ["r", "i"], ["y"], axis=1)],
     {"x": rand(2, 5, 3), "i": np.array([4, 0, 0], np.int32)})
case("gather_one_token", 17, [node("Reshape", ["id", "shape"], ["one"]), node("Gather", ["e", "one"], ["y"], axis=1)],
     {"id": np.array([2], I)}, {"e": rand(3, 4), "shape": np.array([], I)})

# Transformers.
for name, attrs in [("upper", {}), ("lower", {"upper": 0})]:
    case("trilu_" + name, 14, node("Trilu", ["x", "k"], ["y"], **attrs), {"x": rand(2, 3, 4)}, {"k": np.array(1, I)})
case("trilu_mask", 14, [
    node("Trilu", ["ones"], ["t"], upper=0), node("Cast", ["t"], ["b"], to=9), node("Where", ["b", "zero", "low"], ["mask"]),
    node("Add", ["x", "mask"], ["a"]), node("Softmax", ["a"], ["y"])],
    {"x": rand(2, 3, 3)}, {"ones": np.ones((3, 3), F), "zero": np.array(0, F), "low": np.array(-np.inf, F)})
q, k, v = rand(2, 4, 3, 6), rand(2, 2, 3, 6), rand(2, 2, 3, 4)
case("attention_heads", 23, node("Attention", ["q", "k", "v"], ["y"], is_causal=1, scale=0.3), {"q": q, "k": k, "v": v})
case("attention_flat", 23, node("Attention", ["q", "k", "v", "m"], ["y"], q_num_heads=2, kv_num_heads=2),
     {"q": rand(2, 3, 8), "k": rand(2, 5, 8), "v": rand(2, 5, 6)}, {"m": np.where(rng.random((3, 5)) < 0.3, -np.inf, 0.5).astype(F)})
case("attention_allowed", 23, node("Attention", ["q", "k", "v", "m"], ["y"]), {"q": q, "k": k, "v": v},
     {"m": np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1]], bool)})
case("attention_past", 23, node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "nk", "nv"]), {"q": q, "k": k, "v": v, "pk": rand(2, 2, 2, 6), "pv": rand(2, 2, 2, 4)},
     outputs=("y", "nk", "nv"))
angles = np.arange(7)[:, None] * np.array([1.0, 0.4, 0.1])
tables = {"c": np.cos(angles).astype(F), "s": np.sin(angles).astype(F)}
for name, attrs in [("halves", {}), ("pairs", {"interleaved": 1})]:
    case("rotary_" + name, 23, node("RotaryEmbedding", ["x", "c", "s", "p"], ["y"], num_heads=2, **attrs),
         {"x": rand(2, 4, 12), "p": np.array([[0, 1, 2, 3], [3, 4, 5, 6]], I)}, tables)
case("rotary_part", 23, node("RotaryEmbedding", ["x", "c", "s"], ["y"], rotary_embedding_dim=6), {"x": rand(2, 3, 4, 10)},
     {n: np.stack([t[:4], t[1:5]]) for n, t in tables.items()})
M = {"domain": "com.microsoft"}
case("rotary_microsoft", 17, node("RotaryEmbedding", ["x", "p", "c", "s"], ["y"], interleaved=1, **M), {"x": rand(2, 4, 12)},
     {"p": np.array([2], I), **tables})
case("bias_gelu", 17, node("BiasGelu", ["x", "b"], ["y"], **M), {"x": rand(2, 5)}, {"b": rand(5)})
case("fast_gelu", 17, node("FastGelu", ["x", "b"], ["y"], **M), {"x": rand(2, 5)}, {"b": rand(5)})
case("quick_gelu", 17, node("QuickGelu", ["x"], ["y"], **M), {"x": rand(2, 5)})
case("fused_matmul", 17, node("FusedMatMul", ["x", "z"], ["y"], alpha=0.25, transA=1, transB=1, **M), {"x": rand(2, 4, 3), "z": rand(2, 5, 4)})
case("skip_layernorm", 17, node("SkipLayerNormalization", ["x", "z", "w", "b", "c"], ["y", "", "", "s"], epsilon=1e-5, **M),
     {"x": rand(2, 3, 8), "z": rand(2, 3, 8)}, {"w": rand(8), "b": rand(8), "c": rand(8)}, outputs=("y", "s"))
case("skip_rmsnorm", 17, node("SkipSimplifiedLayerNormalization", ["x", "z", "w"], ["y", "", "", "s"], epsilon=1e-5, **M),
     {"x": rand(2, 3, 8), "z": rand(2, 3, 8)}, {"w": rand(8)}, outputs=("y", "s"))
case("simplified_layernorm", 17, node("SimplifiedLayerNormalization", ["x", "w"], ["y"], axis=-1, epsilon=1e-5), {"x": rand(2, 3, 8)}, {"w": rand(8)})
case("embed_layernorm", 17, node("EmbedLayerNormalization", ["ids", "seg", "we", "pe", "se", "w", "b"], ["y", "m"], epsilon=1e-5, **M),
     {"ids": np.array([[3, 0, 4], [4, 4, 1]], np.int32), "seg": np.array([[0, 0, 1], [0, 1, 1]], np.int32)},
     {"we": rand(5, 8), "pe": rand(6, 8), "se": rand(2, 8), "w": rand(8), "b": rand(8)})
case("packed_attention", 17, node("Attention", ["x", "w", "b"], ["y"], num_heads=2, unidirectional=1, **M), {"x": rand(2, 3, 8)},
     {"w": rand(8, 24), "b": rand(24)})
case("multihead_attention", 17, node("MultiHeadAttention", ["q", "k", "v", "b", "", "m"], ["y"], num_heads=2, **M),
     {"q": rand(2, 3, 8), "k": rand(2, 5, 8), "v": rand(2, 5, 8)}, {"b": rand(24), "m": rand(1, 2, 3, 5)})
# Comparisons, truth values and whole numbers that depend on the input.
def floats(name, opset, nodes, inputs, consts=None, out="r"):
    """A case whose result, r, is no float."""
    case(name, opset, nodes + [node("Cast", [out], ["y"], to=1)], inputs, consts)


for op in ["Less", "LessOrEqual", "Greater", "GreaterOrEqual"]:
    floats(op.lower() + "_computed", 16, [node(op, ["x", "z"], ["r"])], {"x": rand(2, 3), "z": rand(3)})
floats("equal_integers", 13, [node("Equal", ["x", "z"], ["r"])],
       {"x": np.array([[1, -2, 3]], I), "z": np.array([[1], [3]], I)})
floats("greater_than_constant", 13, [node("Greater", ["x", "c"], ["r"])], {"x": rand(6)}, {"c": np.array(0.25, F)})
floats("truth_values", 13, [
    node("Greater", ["x", "z"], ["a"]), node("Less", ["x", "c"], ["b"]), node("And", ["a", "b"], ["p"]), node("Or", ["a", "b"], ["q"]),
    node("Xor", ["p", "q"], ["s"]), node("Not", ["s"], ["n"]), node("Concat", ["p", "q", "s", "n"], ["r"], axis=1)],
    {"x": rand(1, 5), "z": rand(1, 5)}, {"c": np.array(0.5, F)})
case("where_computed", 16, [node("Greater", ["x", "z"], ["m"]), node("Where", ["m", "x", "c"], ["y"])], {"x": rand(2, 3), "z": rand(3)}, {"c": np.array(-1.5, F)})
for op in ["Floor", "Ceil", "Round", "Sign"]:
    unary(op, op.lower() + "_computed", lo=-3.0, hi=3.0)
case("round_half", 13, node("Round", ["x"], ["y"]), {"x": np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.75], F)})
floats("cast_to_bool", 13, [node("Cast", ["x"], ["r"], to=TensorProto.BOOL)], {"x": np.array([0, 1.5, -0.25, 0], F)})
floats("div_integers", 14, [node("Div", ["x", "z"], ["r"])], {"x": np.array([-7, 7, 8, -9], I), "z": np.array([2, -2, 3, -4], I)})
floats("mod_integers", 13, [node("Mod", ["x", "z"], ["r"])], {"x": np.array([-7, 7, 8, -9], I), "z": np.array([2, -2, 3, 4], I)})
case("mod_fmod", 13, node("Mod", ["x", "z"], ["y"], fmod=1), {"x": np.array([-4.25, 7.5, 5.0], F), "z": np.array([2.0, -3.0, 8.0], F)})
pool("reducemax_computed", "ReduceMax", (2, 3, 4), axes=[1])
pool("reducemin_computed", "ReduceMin", (2, 3, 4), axes=[0, 2], keepdims=0)
pool("reduceprod_computed", "ReduceProd", (2, 5), axes=[1])
pool("reducelogsumexp", "ReduceLogSumExp", (2, 5), axes=[1])
case("reducelogsum", 13, node("ReduceLogSum", ["x"], ["y"], axes=[1]), {"x": rand(2, 5, lo=0.2)})
floats("argmax", 13, [node("ArgMax", ["x"], ["r"], axis=1)], {"x": np.array([[1, 3, 3], [2, 0, 1]], F)})
floats("argmin_last", 13, [node("ArgMin", ["x"], ["r"], axis=1, keepdims=0, select_last_index=1)], {"x": np.array([[1, 0.5, 0.5], [2, 0, 1]], F)})
case("topk", 13, [node("TopK", ["x", "k"], ["v", "i"], axis=1), node("Cast", ["i"], ["f"], to=1), node("Concat", ["v", "f"], ["y"], axis=1)],
     {"x": np.array([[1, 3, 3, -1], [2, 0, 1, 2]], F)}, {"k": np.array([3], I)})
floats("onehot", 13, [node("OneHot", ["x", "d", "v"], ["r"], axis=1)], {"x": np.array([0, -1, 2], I)}, {"d": np.array(3, I), "v": np.array([2, 5], I)})
pool("hardmax", "Hardmax", (2, 4))

# Moving more.
case("gather_elements", 13, node("GatherElements", ["x", "i"], ["y"], axis=1), {"x": rand(2, 3)}, {"i": np.array([[0, -1], [2, 2]], I)})
case("gather_elements_computed", 13, node("GatherElements", ["x", "i"], ["y"], axis=1), {"x": rand(2, 3), "i": np.array([[0, 1], [2, 2]], I)})
case("gather_nd", 13, node("GatherND", ["x", "i"], ["y"]), {"x": rand(2, 3, 2)}, {"i": np.array([[0, 2], [1, -1]], I)})
case("scatter_elements", 18, node("ScatterElements", ["x", "i", "u"], ["y"], axis=1, reduction="add"), {"x": rand(2, 3), "u": rand(2, 3)}, {"i": np.array([[0, 0, -1], [2, 1, 1]], I)})
case("scatter_nd", 16, node("ScatterND", ["x", "i", "u"], ["y"]), {"x": rand(4, 2), "u": rand(2, 2)}, {"i": np.array([[3], [1]], I)})
case("scatter_nd_max", 18, node("ScatterND", ["x", "i", "u"], ["y"], reduction="max"), {"x": rand(4), "u": rand(3)}, {"i": np.array([[3], [1], [3]], I)})
pool("depth_to_space", "DepthToSpace", (1, 4, 2, 2), blocksize=2, mode="CRD")
pool("space_to_depth", "SpaceToDepth", (1, 1, 4, 2), blocksize=2)
for mode in ["nearest", "linear", "cubic"]:
    case("resize_" + mode, 13, node("Resize", ["x", "", "s"], ["y"], mode=mode), {"x": rand(1, 1, 3, 4)}, {"s": np.array([1, 1, 1.5, 0.75], F)})
case("resize_align", 13, node("Resize", ["x", "", "", "n"], ["y"], mode="linear", coordinate_transformation_mode="align_corners"), {"x": rand(1, 1, 2, 3)}, {"n": np.array([1, 1, 5, 4], I)})
case("cumsum", 14, node("CumSum", ["x", "a"], ["y"], reverse=1), {"x": rand(2, 5)}, {"a": np.array(1, I)})
case("reverse_sequence", 10, node("ReverseSequence", ["x", "n"], ["y"]), {"x": rand(4, 2)}, {"n": np.array([3, 4], I)})

# More linear operators and norms.
case("conv_transpose", 11, node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 1], pads=[1, 0, 0, 1], output_padding=[1, 0], group=2),
     {"x": rand(1, 4, 3, 3)}, {"w": rand(4, 2, 3, 2), "b": rand(4)})
case("conv_3d", 13, node("Conv", ["x", "w"], ["y"], pads=[1, 0, 0, 0, 1, 1], strides=[2, 1, 1]), {"x": rand(1, 2, 4, 3, 3)}, {"w": rand(2, 2, 2, 2, 2)})
pool("maxpool_3d", "MaxPool", (1, 1, 4, 3, 4), kernel_shape=[2, 2, 3], strides=[1, 1, 2], pads=[1, 0, 0, 0, 1, 1])
pool("averagepool_3d", "AveragePool", (1, 2, 4, 3, 4), kernel_shape=[2, 2, 3], strides=[1, 1, 2], pads=[1, 0, 0, 0, 1, 1])
pool("lppool", "LpPool", (1, 1, 4, 4), opset=18, kernel_shape=[2, 2], p=2)
case("instancenorm", 13, node("InstanceNormalization", ["x", "s", "t"], ["y"]), {"x": rand(2, 2, 5)}, {"s": rand(2), "t": rand(2)})
pool("lrn", "LRN", (1, 5, 2, 2), size=3, alpha=0.5, beta=0.6)
pool("mvn", "MeanVarianceNormalization", (2, 2, 2, 3))
pool("lpnorm_1", "LpNormalization", (2, 4), p=1)
case("einsum", 13, node("Einsum", ["x", "z"], ["y"], equation="bij,bkj->kbi"), {"x": rand(2, 2, 3), "z": rand(2, 4, 3)})

# Recurrence.
case("rnn_reverse", 14, node("RNN", ["x", "w", "r", "b"], ["", "y"], hidden_size=2, direction="reverse"), {"x": rand(3, 1, 2)}, {"w": rand(1, 2, 2), "r": rand(1, 2, 2), "b": rand(1, 4)})
case("gru", 14, node("GRU", ["x", "w", "r", "b"], ["y"], hidden_size=2), {"x": rand(2, 1, 2)}, {"w": rand(1, 6, 2), "r": rand(1, 6, 2), "b": rand(1, 12)})
case("lstm_both_ways", 14, node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=2, direction="bidirectional"), {"x": rand(2, 1, 2)}, {"w": rand(2, 8, 2), "r": rand(2, 8, 2), "b": rand(2, 16)})

# Quantised values.
case("quantise_dequantise", 13, [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])],
     {"x": rand(2, 5)}, {"s": np.array(0.03, F), "z": np.array(7, np.int8)})
floats("matmul_integer", 13, [node("MatMulInteger", ["x", "w", "a", "b"], ["r"])], {"x": np.array([[3, 250, 9]], np.uint8)},
       {"w": np.array([[1, -2], [-128, 127], [5, 6]], np.int8), "a": np.array(12, np.uint8), "b": np.array(-1, np.int8)})
floats("qlinear_matmul", 13, [node("QLinearMatMul", ["x", "s", "a", "w", "t", "b", "u", "c"], ["r"])], {"x": np.array([[3, 250, 9]], np.uint8)},
       {"w": np.array([[1, -2], [-128, 127], [5, 6]], np.int8), "a": np.array(12, np.uint8), "b": np.array(-1, np.int8), "c": np.array(120, np.uint8),
        "s": np.array(0.013, F), "t": np.array(0.02, F), "u": np.array(0.07, F)})

# Masks that are an input.
tokens = np.array([[1, 1, 0, 1], [0, 1, 1, 1]], I)
case("masked_by_integers", 13, [
    node("Unsqueeze", ["m", "axis"], ["u"]), node("Cast", ["u"], ["f"], to=1), node("Sub", ["one", "f"], ["r"]), node("Mul", ["r", "low"], ["a"]),
    node("Add", ["x", "a"], ["s"]), node("Softmax", ["s"], ["y"])],
    {"x": rand(2, 3, 4), "m": tokens}, {"axis": np.array([1], I), "one": np.array(1, F), "low": np.array(np.finfo(F).min, F)})
case("masked_twice", 13, [
    node("Where", ["m", "x", "low"], ["w"]), node("Add", ["w", "causal"], ["s"]), node("Softmax", ["s"], ["y"])],
    {"x": rand(2, 4, 4), "m": np.array([[[1, 1, 0, 1]], [[1, 0, 1, 1]]], bool)},
    {"causal": np.triu(np.full((4, 4), -np.inf, F), 1), "low": np.array(-np.inf, F)})
case("attention_masked", 23, node("Attention", ["q", "k", "v", "m"], ["y"]), {"q": q, "k": k, "v": v, "m": np.array([[[[1, 0, 1], [1, 1, 0], [0, 0, 1]]], [[[1, 1, 1]] * 3]], bool)})


# Classical models. What is an integer is cast.
ML = "ai.onnx.ml"


def ml_opset(nodes):
    return 5 if any(n.op_type == "TreeEnsemble" for n in nodes) else 4 if any(n.op_type == "LabelEncoder" for n in nodes) else 3


def ml(op, inputs, outputs, **attrs):
    return helper.make_node(op, inputs, outputs, domain=ML, **attrs)


def trees(prefix, count, depth, features, ids, values, modes=("BRANCH_LEQ",), negative=True):
    """Attributes of random trees, whose leaves have weights for some of the ids."""
    a = {k: [] for k in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_modes", "nodes_truenodeids", "nodes_falsenodeids")}
    w = {prefix + k: [] for k in ("_treeids", "_nodeids", "_ids", "_weights")}
    for t in range(count):
        last = 2**depth - 1
        for i in range(2 * last + 1):
            leaf = i >= last or i > 2 and rng.random() < 0.2
            for k, v in zip(a, (t, i, int(rng.integers(features)), float(values()), "LEAF" if leaf else str(rng.choice(modes)), 0 if leaf else 2 * i + 1, 0 if leaf else 2 * i + 2)):
                a[k].append(v)
            for k in ids if leaf else ():
                for at, v in zip(w, (t, i, k, float(rng.normal() if negative else rng.random() / count))):
                    w[at].append(v)
    # Nodes that nothing leads to would be trees of their own.
    for t in range(count):
        seen, todo = set(), [0]
        index = {i: n for n, i in enumerate(a["nodes_nodeids"]) if a["nodes_treeids"][n] == t}
        while todo:
            i = todo.pop()
            seen.add(i)
            if a["nodes_modes"][index[i]] != "LEAF":
                todo += [a["nodes_truenodeids"][index[i]], a["nodes_falsenodeids"][index[i]]]
        for table, tree, node in ((a, "nodes_treeids", "nodes_nodeids"), (w, prefix + "_treeids", prefix + "_nodeids")):
            keep = [n for n in range(len(table[tree])) if table[tree][n] != t or table[node][n] in seen]
            for k in table:
                table[k] = [table[k][n] for n in keep]
    return {**a, **w}


gauss = lambda: np.float32(rng.normal())
whole = lambda: int(rng.integers(-2, 3))
ALL = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT")
regressor = lambda n_targets=1, **more: ml("TreeEnsembleRegressor", ["x"], ["y"], n_targets=n_targets, **more)
case("tree_regressor", 17, regressor(**trees("target", 3, 3, 4, [0], gauss, ALL)), {"x": rand(6, 4)})
case("tree_targets", 17, regressor(n_targets=2, base_values=[0.5, -1.0], **trees("target", 2, 3, 4, [0, 1], gauss)), {"x": rand(5, 4)})
case("tree_equal", 17, regressor(**trees("target", 2, 3, 3, [0], whole, ALL + ("BRANCH_EQ", "BRANCH_NEQ"))), {"x": rng.integers(-3, 4, (8, 3)).astype(F)})
case("tree_integers", 17, [node("Cast", ["x"], ["s"], to=1), ml("TreeEnsembleRegressor", ["s"], ["y"], n_targets=1, **trees("target", 2, 3, 3, [0], lambda: whole() + 0.5, ALL))], {"x": rng.integers(-3, 4, (8, 3))})
case("tree_average", 17, regressor(aggregate_function="AVERAGE", **trees("target", 3, 2, 4, [0], gauss)), {"x": rand(5, 4)})
case("tree_min", 17, regressor(aggregate_function="MIN", **trees("target", 3, 2, 4, [0], gauss)), {"x": rand(5, 4)})
case("tree_max", 17, regressor(aggregate_function="MAX", base_values=[0.5], **trees("target", 3, 2, 4, [0], gauss)), {"x": rand(5, 4)})
case("tree_logistic", 17, regressor(n_targets=2, post_transform="LOGISTIC", **trees("target", 3, 2, 4, [0, 1], gauss)), {"x": rand(5, 4)})
case("tree_scaled", 17, [ml("Scaler", ["x"], ["s"], offset=[1.0, 2.0, -1.0], scale=[3.0, 0.5, 0.1]), ml("TreeEnsembleRegressor", ["s"], ["y"], n_targets=1, **trees("target", 3, 2, 3, [0], gauss))], {"x": rand(6, 3)})
case("tree_columns", 17, [node("Concat", ["a", "b"], ["x"], axis=1), regressor(**trees("target", 3, 2, 3, [0], gauss))], {"a": rand(6, 1, lo=-100, hi=100), "b": rand(6, 2)})


def classifier(name, n, ids, transform="NONE", negative=True, labels=None, x=None, **more):
    attrs = trees("class", 3, 3, 4, ids, gauss, negative=negative)
    case(name, 17, [ml("TreeEnsembleClassifier", ["x"], ["l", "p"], classlabels_int64s=labels or list(range(n)), post_transform=transform, **attrs, **more),
                    node("Cast", ["l"], ["y"], to=1), node("Identity", ["p"], ["z"])], {"x": rand(6, 4)}, outputs=("y", "z"))


classifier("tree_classes", 3, [0, 1, 2], negative=False)
classifier("tree_labels", 4, [0, 1, 2, 3], "SOFTMAX", labels=[7, -2, 0, 100], base_values=[0.5, 0.25, -1.0, 0.0])
classifier("tree_two", 2, [0], negative=False)
classifier("tree_two_logistic", 2, [0], "LOGISTIC", base_values=[0.25])
classifier("tree_two_second", 2, [1], labels=[3, 5])
case("tree_ensemble", 21, ml("TreeEnsemble", ["x"], ["y"], n_targets=2, aggregate_function=1, post_transform=0, tree_roots=[0], nodes_modes=numpy_helper.from_array(np.array([0, 4, 6], np.uint8)),
    nodes_featureids=[0, 0, 0], nodes_splits=numpy_helper.from_array(np.array([3.14, 1.2, 4.2], F)), nodes_truenodeids=[1, 0, 1], nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[2, 2, 3], nodes_falseleafs=[0, 1, 1],
    leaf_targetids=[0, 1, 0, 1], leaf_weights=numpy_helper.from_array(np.array([5.23, 12.12, -12.23, 7.21], F)), membership_values=numpy_helper.from_array(np.array([1.2, 3.7, 8, 9, np.nan], F))),
    {"x": np.array([[1.2], [3.4], [-0.12], [8], [3.7], [9]], F)})

case("scaler", 17, ml("Scaler", ["x"], ["y"], offset=[1.0, 2.0, -1.0], scale=[3.0, 0.5, 0.1]), {"x": rand(4, 3)})
for norm in ("L1", "L2", "MAX"):
    case("normalizer_" + norm.lower(), 17, ml("Normalizer", ["x"], ["y"], norm=norm), {"x": rand(4, 3, lo=0.5, hi=3)})
case("binarizer", 17, ml("Binarizer", ["x"], ["y"], threshold=0.25), {"x": rand(4, 3)})
case("imputer", 17, ml("Imputer", ["x"], ["y"], imputed_value_floats=[1.5, -2.0, 0.25], replaced_value_float=-1.0), {"x": np.array([[-1, 2, 0.5], [1, -1, -1]], F)})
case("imputer_nan", 17, ml("Imputer", ["x"], ["y"], imputed_value_floats=[1.5], replaced_value_float=float("nan")), {"x": rand(2, 3)})
case("feature_vectorizer", 17, ml("FeatureVectorizer", ["a", "b"], ["y"], inputdimensions=[2, 3]), {"a": rand(4, 2), "b": rand(4, 3)})
case("feature_extractor", 17, ml("ArrayFeatureExtractor", ["x", "i"], ["y"]), {"x": rand(3, 4)}, {"i": np.array([2, 0, 2], I)})
case("feature_extractor_computed", 17, [node("ArgMax", ["x"], ["i"], axis=1, keepdims=0), ml("ArrayFeatureExtractor", ["c", "i"], ["y"])], {"x": rand(5, 3)}, {"c": np.array([0.5, -3, 7], F)})
case("label_encoder", 17, ml("LabelEncoder", ["x"], ["y"], keys_int64s=[3, -1, 7], values_floats=[0.5, 2.0, -1.0], default_float=9.0), {"x": np.array([[3, 7], [0, -1]], I)})
case("label_encoder_floats", 17, [ml("LabelEncoder", ["x"], ["i"], keys_floats=[0.5, 2.0], values_int64s=[4, 2], default_int64=-5), node("Cast", ["i"], ["y"], to=1)], {"x": np.array([0.5, 2, 1, 0.5], F)})
case("one_hot_encoder", 17, ml("OneHotEncoder", ["x"], ["y"], cats_int64s=[2, 0, 5]), {"x": np.array([[0], [5], [1]], I)})
case("linear_regressor", 17, ml("LinearRegressor", ["x"], ["y"], targets=2, coefficients=[1.0, -2.0, 0.5, 0.25, 3.0, -1.0], intercepts=[0.5, -0.5]), {"x": rand(4, 3)})
case("linear_classifier", 17, [ml("LinearClassifier", ["x"], ["l", "p"], classlabels_ints=[4, 5, 9], coefficients=[float(v) for v in rng.normal(size=9)], intercepts=[0.5, -0.5, 0.0], post_transform="SOFTMAX"),
    node("Cast", ["l"], ["y"], to=1), node("Identity", ["p"], ["z"])], {"x": rand(5, 3)}, outputs=("y", "z"))
for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
    case("svm_regressor_" + kernel.lower(), 17, ml("SVMRegressor", ["x"], ["y"], kernel_type=kernel, kernel_params=[0.4, 0.5, 3.0], n_supports=3, support_vectors=[float(v) for v in rng.normal(size=9)],
        coefficients=[1.0, -0.5, 0.75], rho=[0.25]), {"x": rand(4, 3, lo=-1, hi=1)})
case("svm_one_class", 17, ml("SVMRegressor", ["x"], ["y"], kernel_type="RBF", kernel_params=[0.4, 0.0, 0.0], n_supports=3, support_vectors=[float(v) for v in rng.normal(size=9)],
    coefficients=[1.0, 0.5, 0.75], rho=[-1.0], one_class=1), {"x": rand(6, 3, lo=-1, hi=1)})
for name, n in (("two", 2), ("three", 3)):
    case("svm_" + name, 17, [ml("SVMClassifier", ["x"], ["l", "p"], classlabels_ints=list(range(n)), kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], vectors_per_class=[2] * n,
        support_vectors=[float(v) for v in rng.normal(size=6 * n)], coefficients=[float(v) for v in rng.normal(size=2 * n * (n - 1))], rho=[0.1, -0.2, 0.15][: n * (n - 1) // 2]),
        node("Cast", ["l"], ["y"], to=1), node("Identity", ["p"], ["z"])], {"x": rand(6, 3, lo=-1, hi=1)}, outputs=("y", "z"))

# Bodies.
def body(nodes, inputs, outputs, consts=None):
    """A graph; inputs and outputs are names with types and shapes."""
    info = lambda list: [helper.make_tensor_value_info(*v) for v in list]
    return helper.make_graph(nodes, "body", info(inputs), info(outputs), [numpy_helper.from_array(v, k) for k, v in (consts or {}).items()])


FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
case("if_computed", 17, [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c"]), node("Relu", ["x"], ["r"]),
    node("If", ["c"], ["y"], then_branch=body([node("Mul", ["r", "two"], ["t"])], [], [("t", FLOAT, [2, 3])], {"two": np.array(2, F)}), else_branch=body([node("Tanh", ["x"], ["t"])], [], [("t", FLOAT, [2, 3])]))],
    {"x": rand(2, 3)}, {"zero": np.array(0, F)})
case("loop", 17, node("Loop", ["m", "on", "x"], ["y", "z"], body=body(
    [node("Cast", ["i"], ["f"], to=1), node("Add", ["v", "f"], ["a"]), node("Mul", ["a", "w"], ["n"]), node("Identity", ["on_in"], ["on_out"]), node("Relu", ["n"], ["p"])],
    [("i", INT64, []), ("on_in", BOOL, []), ("v", FLOAT, [3])], [("on_out", BOOL, []), ("n", FLOAT, [3]), ("p", FLOAT, [3])])),
    {"x": rand(3)}, {"m": np.array(4, I), "on": np.array(True), "w": np.array([0.5, -0.25, 1], F)}, outputs=("y", "z"))
case("scan", 17, node("Scan", ["h", "x"], ["y", "z"], num_scan_inputs=1, scan_input_directions=[1], scan_input_axes=[1], scan_output_axes=[1], body=body(
    [node("Add", ["s", "e"], ["a"]), node("Tanh", ["a"], ["n"]), node("Mul", ["n", "n"], ["q"])],
    [("s", FLOAT, [2]), ("e", FLOAT, [2])], [("n", FLOAT, [2]), ("q", FLOAT, [2])])),
    {"h": rand(2), "x": rand(2, 4)}, outputs=("y", "z"))


# Fourier transforms (of lengths that ONNX Runtime is exact for), magnitudes, indices of a MaxPool, powers.
for name, opset, x, length, attrs in [
    ("real", 17, (2, 8, 1), None, {}),
    ("complex", 17, (1, 5, 2, 2), None, {"axis": 2}),
    ("inverse", 17, (2, 4, 2), None, {"inverse": 1}),
    ("onesided", 17, (1, 8, 1), None, {"onesided": 1}),
    ("filled_up", 17, (1, 5, 1), 8, {}),
    ("cut_off", 17, (1, 7, 2), 4, {}),
]:
    consts = {} if length is None else {"n": np.array(length, I)}
    case(f"dft_{name}", opset, node("DFT", ["x", *consts], ["y"], **attrs), {"x": rand(*x)}, consts)
case("stft", 17, node("STFT", ["x", "step", "window"], ["y"]), {"x": rand(2, 15, 1)}, {"step": np.array(3, I), "window": rand(8, lo=0.1, hi=1)})
case("stft_twosided", 17, node("STFT", ["x", "step", "", "length"], ["y"], onesided=0), {"x": rand(1, 9, 1)}, {"step": np.array(2, I), "length": np.array(5, I)})
case("magnitude", 13, [node("Mul", ["x", "x"], ["s"]), node("ReduceSum", ["s", "axes"], ["r"], keepdims=0), node("Sqrt", ["r"], ["y"])],
     {"x": np.array([[3, 4], [0.003, -0.004], [0, 0], [-2, 1]], F)}, {"axes": np.array([1], I)})
case("magnitude_of_parts", 13, [node("Mul", ["x", "x"], ["s"]), node("Mul", ["z", "z"], ["t"]), node("Add", ["s", "t"], ["r"]), node("Sqrt", ["r"], ["y"])],
     {"x": rand(2, 3), "z": rand(2, 3)})
case("log_power", 13, [node("Mul", ["x", "x"], ["s"]), node("ReduceSum", ["s", "axes"], ["r"], keepdims=0), node("Add", ["r", "e"], ["p"]), node("Log", ["p"], ["y"])],
     {"x": np.array([[3, 4], [0.003, -0.004], [0, 0], [-2e-5, 1e-5]], F)}, {"axes": np.array([1], I), "e": np.array(1e-10, F)})
case("log_power_of_root", 13, [
    node("Mul", ["x", "x"], ["s"]), node("Mul", ["z", "z"], ["t"]), node("Add", ["s", "t"], ["r"]), node("Sqrt", ["r"], ["m"]),
    node("Transpose", ["m"], ["n"], perm=[1, 0]), node("Mul", ["n", "n"], ["q"]), node("Add", ["q", "e"], ["p"]), node("Log", ["p"], ["l"]), node("Mul", ["l", "d"], ["y"])],
    {"x": np.array([[1.5, 0.02, 0], [1e-4, -3, 0.5]], F), "z": np.array([[-2, 0.01, 0], [-1e-5, 0.25, -0.5]], F)},
    {"e": np.array(1e-8, F), "d": np.array(4.3429448, F)})
for name, shape, attrs in [
    ("pads", (2, 2, 4, 3), dict(kernel_shape=[3, 2], pads=[1, 1, 2, 0])),
    ("dilation", (1, 2, 5, 6), dict(kernel_shape=[2, 3], dilations=[3, 2], pads=[0, 1, 0, 1])),
    ("columns", (1, 2, 4, 5), dict(kernel_shape=[2, 2], strides=[2, 2], storage_order=1)),
    ("ceil_1d", (1, 2, 6), dict(kernel_shape=[3], strides=[2], ceil_mode=1)),
]:
    # Whole numbers, so that some are equal and the first of them counts.
    case(f"maxpool_indices_{name}", 12, [node("MaxPool", ["x"], ["y", "i"], **attrs), node("Cast", ["i"], ["f"], to=1)],
         {"x": np.round(rand(*shape)) - 2}, outputs=("y", "f"))
case("pow_exponents", 13, node("Pow", ["x", "e"], ["y"]), {"x": rand(2, 4, lo=0.5)}, {"e": np.array([2, 0.5, 3, 2.5], F)})
case("shrink", 9, node("Shrink", ["x"], ["y"], lambd=0.75, bias=0.5), {"x": np.array([[-2, -0.75, -0.7, 0, 0.75, 0.8]], F)})
case("thresholdedrelu", 10, node("ThresholdedRelu", ["x"], ["y"], alpha=0.75), {"x": np.array([[-2, 0.75, 0.7, 0, 0.8, 3]], F)})
case("nonzero", 13, [node("NonZero", ["c"], ["i"]), node("Reshape", ["i", "s"], ["j"]), node("Gather", ["x", "j"], ["y"], axis=1)],
     {"x": rand(2, 5)}, {"c": np.array([0, 2, 0, 1, -1], F), "s": np.array([3], I)})
case("pow_computed", 13, node("Pow", ["x", "e"], ["y"]), {"x": rand(3, 4, lo=0.3), "e": rand(3, 4)})
case("pow_computed_signs", 13, node("Pow", ["x", "e"], ["y"]),
     {"x": np.array([[-2, -1.5, 0, 0, 1.5]], F), "e": np.array([[3], [2], [0], [1]], F)})
case("pow_computed_of_constant", 13, node("Pow", ["c", "e"], ["y"]), {"e": rand(2, 3)}, {"c": np.array([10, 0.5, 2], F)})
case("dynamic_quantize", 13, [
    node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("MatMulInteger", ["q", "w", "z"], ["p"]), node("Cast", ["p"], ["f"], to=1),
    node("Mul", ["s", "ws"], ["t"]), node("Mul", ["f", "t"], ["y"])],
    {"x": rand(3, 8)}, {"w": rng.integers(-127, 128, (8, 5)).astype(np.int8), "ws": np.array(0.01, F)})
case("empty_parts", 13, [node("Split", ["x", "parts"], ["a", "b", "c"], axis=1), node("Relu", ["a"], ["r"]), node("Concat", ["r", "c", "b"], ["y"], axis=1)],
     {"x": rand(2, 5)}, {"parts": np.array([0, 2, 3], I)})
case("dropout_mask", 13, [node("Dropout", ["x"], ["d", "m"]), node("Cast", ["m"], ["f"], to=1), node("Add", ["d", "f"], ["y"])], {"x": rand(2, 3)})

# Operator sets before 7, of which onnxruntime runs few operators: each case has nodes that
# mean the same in a later set, which it runs for the expected output.
LATER = {}


def old(name, opset, nodes, later, inputs, consts=None, outputs=("y",)):
    case(f"set{opset}_{name}", opset, nodes, inputs, consts, outputs)
    LATER[f"set{opset}_{name}"] = later if isinstance(later, list) else [later]


channels = {"c": rand(3, lo=0.5, hi=2)}
column = node("Unsqueeze", ["c", "one"], ["k"])
channels["one"] = np.array([1], I)
for op in ["Add", "Sub", "Mul", "Div"]:
    old(op.lower() + "_axis", 6, node(op, ["x", "c"], ["y"], broadcast=1, axis=1), [column, node(op, ["x", "k"], ["y"])], {"x": rand(2, 3, 4)}, channels)
old("pow_axis", 1, node("Pow", ["x", "c"], ["y"], broadcast=1, axis=-2), [column, node("Pow", ["x", "k"], ["y"])], {"x": rand(2, 3, 4, lo=0.5)}, channels)
old("add_trailing", 1, node("Add", ["x", "c"], ["y"], broadcast=1, consumed_inputs=[0, 0]), node("Add", ["x", "c"], ["y"]), {"x": rand(2, 3)}, {"c": rand(3)})
for op in ["Greater", "Less"]:
    old(op.lower() + "_axis", 1, [node(op, ["x", "c"], ["b"], broadcast=1, axis=1), node("Cast", ["b"], ["y"], to="FLOAT")],
        [column, node(op, ["x", "k"], ["b"]), node("Cast", ["b"], ["y"], to=1)], {"x": rand(2, 3, 2)}, channels)
for op in ["Relu", "Sigmoid", "Tanh", "Exp", "Abs", "Neg", "Floor", "Ceil"]:
    old(op.lower(), 1, node(op, ["x"], ["y"], consumed_inputs=[0]), node(op, ["x"], ["y"]), {"x": rand(2, 3)})
for op, attrs in [("Elu", {"alpha": 0.7}), ("LeakyRelu", {"alpha": 0.2}), ("Selu", {}), ("HardSigmoid", {"alpha": 0.3})]:
    old(op.lower(), 1, node(op, ["x"], ["y"], consumed_inputs=[0], **attrs), node(op, ["x"], ["y"], **attrs), {"x": rand(2, 3)})
for op in ["Max", "Min", "Sum", "Mean"]:
    old(op.lower(), 1, node(op, ["x", "z"], ["y"], consumed_inputs=[0, 0]), node(op, ["x", "z"], ["y"]), {"x": rand(2, 3), "z": rand(2, 3)})
old("clip", 1, node("Clip", ["x"], ["y"], min=-0.5, max=1.0, consumed_inputs=[0]), node("Clip", ["x", "lo", "hi"], ["y"]), {"x": rand(2, 5)},
    {"lo": np.array(-0.5, F), "hi": np.array(1, F)})
for opset, attrs in [(1, {"consumed_inputs": [0, 0, 0, 1, 1], "is_test": 1}), (6, {"is_test": 1, "epsilon": 1e-3})]:
    eps = {k: v for k, v in attrs.items() if k == "epsilon"}
    old("batchnorm", opset, node("BatchNormalization", ["x"] + bn, ["y"], **attrs), node("BatchNormalization", ["x"] + bn, ["y"], **eps),
        {"x": rand(2, 3, 2, 2)}, stats(3))
old("batchnorm_of_each", 6, node("BatchNormalization", ["x"] + bn, ["y"], is_test=1, spatial=0),
    [node("Sub", ["x", bn[2]], ["d"]), node("Add", [bn[3], "eps"], ["ve"]), node("Sqrt", ["ve"], ["r"]), node("Div", ["d", "r"], ["n"]),
     node("Mul", ["n", bn[0]], ["sn"]), node("Add", ["sn", bn[1]], ["y"])],
    {"x": rand(2, 3, 2)}, {k: v for k, v in zip(bn, [rand(3, 2), rand(3, 2), rand(3, 2), rand(3, 2, lo=0.5)])} | {"eps": np.array(1e-5, F)})
old("dropout", 1, node("Dropout", ["x"], ["y"], is_test=1, ratio=0.3, consumed_inputs=[0]), node("Identity", ["x"], ["y"]), {"x": rand(2, 3)})
old("dropout", 6, node("Dropout", ["x"], ["y"], is_test=1), node("Identity", ["x"], ["y"]), {"x": rand(2, 3)})
old("prelu_channels", 6, node("PRelu", ["x", "c"], ["y"]), [column, node("PRelu", ["x", "k"], ["y"])], {"x": rand(2, 3, 4)}, channels)
old("gemm", 6, node("Gemm", ["x", "w", "b"], ["y"], transB=1, alpha=0.5, broadcast=1), node("Gemm", ["x", "w", "b"], ["y"], transB=1, alpha=0.5),
    {"x": rand(2, 3)}, {"w": rand(4, 3), "b": rand(4)})
old("reshape", 1, node("Reshape", ["x"], ["y"], shape=[0, -1], consumed_inputs=[0]), node("Reshape", ["x", "s"], ["y"]), {"x": rand(2, 3, 4)},
    {"s": np.array([0, -1], I)})
for name, opset, attr in [("pad_paddings", 1, "paddings"), ("pad_reflect", 2, "pads")]:
    mode = "constant" if opset == 1 else "reflect"
    old(name, opset, node("Pad", ["x"], ["y"], mode=mode, value=0.5, **{attr: [0, 1, 0, 2]}), node("Pad", ["x", "p", "v"], ["y"], mode=mode),
        {"x": rand(2, 4)}, {"p": np.array([0, 1, 0, 2], I), "v": np.array(0.5, F)})
for mode, later in [("nearest", {"nearest_mode": "floor"}), ("bilinear", {"mode": "linear"})]:
    old(f"upsample_{mode}", 1, node("Upsample", ["x"], ["y"], mode=mode, height_scale=2.0, width_scale=3.0),
        node("Resize", ["x", "", "s"], ["y"], coordinate_transformation_mode="asymmetric", **later), {"x": rand(1, 2, 2, 3)}, {"s": np.array([1, 1, 2, 3], F)})
old("tile", 1, node("Tile", ["x", "n", "a"], ["y"]), node("Tile", ["x", "r"], ["y"]), {"x": rand(2, 3)},
    {"n": np.array(2, I), "a": np.array(1, I), "r": np.array([1, 2], I)})
old("concat", 1, node("Concat", ["x", "z"], ["y"]), node("Concat", ["x", "z"], ["y"], axis=1), {"x": rand(2, 3), "z": rand(2, 1)})
old("split", 1, [node("Split", ["x", "n"], ["a", "b"], axis=1), node("Concat", ["b", "a"], ["y"], axis=1)],
    [node("Split", ["x", "n"], ["a", "b"], axis=1), node("Concat", ["b", "a"], ["y"], axis=1)], {"x": rand(2, 3)}, {"n": np.array([1, 2], I)})
old("slice", 1, node("Slice", ["x"], ["y"], axes=[1], starts=[1], ends=[-1]), node("Slice", ["x", "from", "to", "axes"], ["y"]), {"x": rand(2, 5)},
    {"from": np.array([1], I), "to": np.array([-1], I), "axes": np.array([1], I)})
old("topk", 1, node("TopK", ["x"], ["y", "i"], k=2), node("TopK", ["x", "k"], ["y", "i"]), {"x": rand(2, 5)}, {"k": np.array([2], I)})
old("lppool", 1, node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], p=3.0), node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], p=3), {"x": rand(1, 2, 3, 3)})
old("globallppool", 1, node("GlobalLpPool", ["x"], ["y"], p=2.0), node("GlobalLpPool", ["x"], ["y"], p=2), {"x": rand(1, 2, 3, 3)})
old("instancenorm", 1, node("InstanceNormalization", ["x", "s", "b"], ["y"], consumed_inputs=[0, 0, 0]), node("InstanceNormalization", ["x", "s", "b"], ["y"]),
    {"x": rand(1, 2, 3, 3)}, {"s": rand(2), "b": rand(2)})
for op, gates in [("RNN", 1), ("GRU", 3), ("LSTM", 4)]:
    old(op.lower(), 1, node(op, ["x", "w", "r"], ["y"], hidden_size=3, output_sequence=1), node(op, ["x", "w", "r"], ["y"], hidden_size=3),
        {"x": rand(3, 1, 2)}, {"w": rand(1, 3 * gates, 2), "r": rand(1, 3 * gates, 3)})
old("affine", 1, node("Affine", ["x"], ["y"], alpha=1.5, beta=-0.25), [node("Mul", ["x", "a"], ["m"]), node("Add", ["m", "b"], ["y"])],
    {"x": rand(2, 3)}, {"a": np.array(1.5, F), "b": np.array(-0.25, F)})
for name, op, inner in [("scaledtanh", "ScaledTanh", "Tanh"), ("parametricsoftplus", "ParametricSoftplus", "Softplus")]:
    old(name, 1, node(op, ["x"], ["y"], alpha=1.5, beta=0.5), [node("Mul", ["x", "b"], ["m"]), node(inner, ["m"], ["t"]), node("Mul", ["t", "a"], ["y"])],
        {"x": rand(2, 3)}, {"a": np.array(1.5, F), "b": np.array(0.5, F)})
old("imagescaler", 1, node("ImageScaler", ["x"], ["y"], scale=0.5, bias=[0.25, -1.0]), [node("Mul", ["x", "a"], ["m"]), node("Add", ["m", "b"], ["y"])],
    {"x": rand(1, 2, 3, 3)}, {"a": np.array(0.5, F), "b": np.array([[[0.25]], [[-1]]], F)})
for name, attrs, to in [("crop", {"border": [1, 0, 2, 1]}, [2, 3]), ("crop_window", {"border": [1, 1, 0, 0], "scale": [2, 3]}, [3, 4])]:
    l, t = attrs["border"][:2]
    old(name, 1, node("Crop", ["x"], ["y"], **attrs), node("Slice", ["x", "from", "to", "axes"], ["y"]), {"x": rand(1, 2, 3, 5)},
        {"from": np.array([t, l], I), "to": np.array(to, I), "axes": np.array([2, 3], I)})
loop = helper.make_graph(
    [node("Add", ["sum", "item"], ["next"]), node("Identity", ["next"], ["seen"])], "body",
    [helper.make_tensor_value_info(n, TensorProto.FLOAT, (2,)) for n in ("sum", "item")],
    [helper.make_tensor_value_info(n, TensorProto.FLOAT, (2,)) for n in ("next", "seen")])
case("set8_scan", 8, node("Scan", ["", "x", "z"], ["f", "y"], body=loop, num_scan_inputs=1, directions=[1]), {"x": rand(3, 2), "z": rand(3, 4, 2)}, outputs=("f", "y"))
for name, axes, wide in [("rows", [-1], 20), ("columns", [1], 2)]:  # the latter not along the last axis
    case(f"softmax_by_logsumexp_{name}", 13, [
        node("ReduceLogSumExp", ["x"], ["r"], axes=axes, keepdims=0), node("Unsqueeze", ["r", "a"], ["k"]), node("Sub", ["x", "k"], ["l"]), node("Exp", ["l"], ["y"])],
        {"x": wide * rand(2, 3, 4)}, {"a": np.array(axes, I)})

case("feature_extractor_of_rows", 17, [node("ArgMax", ["x"], ["i"], axis=1, keepdims=0), ml("ArrayFeatureExtractor", ["c", "i"], ["y"])],
     {"x": rand(5, 3)}, {"c": rand(2, 3)})

case("dynamic_quantize_zeros", 13, [
    node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]), node("Add", ["d", "s"], ["y"])],
    {"x": np.zeros((2, 3), F)})


# Indices that are computed. Numbers of their own, whatever stands above.
picks = np.random.default_rng(8)


def table(*shape):
    return np.round(picks.uniform(-2, 2, shape), 3).astype(F)


case("gather_argmax", 13, [node("ArgMax", ["x"], ["i"], axis=1, keepdims=0), node("Gather", ["e", "i"], ["y"])], {"x": table(3, 7)}, {"e": table(7, 4)})
case("gather_argmax_of_many", 13, [node("ArgMax", ["x"], ["i"], axis=1, keepdims=0), node("Gather", ["e", "i"], ["y"])],
     {"x": table(3, 70)}, {"e": table(70, 4)})
case("gather_computed_indices", 13, [node("Floor", ["i"], ["f"]), node("Cast", ["f"], ["j"], to=TensorProto.INT64), node("Gather", ["x", "j"], ["y"], axis=1)],
     {"i": np.array([[-1.5, 2.25], [0.5, -3.0]], F), "x": table(2, 3, 2)})
case("gather_sliced_indices", 13, [node("Slice", ["i", "from", "to"], ["j"]), node("Gather", ["e", "j"], ["r"]), node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)],
     {"i": np.array([3, 0, 4, 1], I)}, {"from": np.array([1], I), "to": np.array([3], I), "e": np.array([[5, -7], [0, 9], [1, 2], [3, 4], [-60, 8]], I)})
case("gather_nd_computed", 13, [node("Add", ["i", "one"], ["j"]), node("GatherND", ["x", "j"], ["y"])],
     {"x": table(3, 4, 2), "i": np.array([[-1, 1], [1, -3], [0, 0]], I)}, {"one": np.array(1, I)})
case("gather_nd_computed_batch", 13, [node("Add", ["i", "one"], ["j"]), node("GatherND", ["x", "j"], ["y"], batch_dims=1)],
     {"x": table(2, 4, 3), "i": np.array([[[0], [2]], [[-2], [1]]], I)}, {"one": np.array(1, I)})


# Places between entries, and entries in their places. Numbers of their own again.
spots = np.random.default_rng(9)


def spot(*shape, lo=-2.0, hi=2.0):
    return np.round(spots.uniform(lo, hi, shape), 3).astype(F)


grid_shape = (1, 2, 3, 2)
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        case(f"grid_sample_{mode}_{padding}", 16, node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding, align_corners=int(padding == "border")),
             {"x": spot(1, 2, 4, 3)}, {"g": spot(*grid_shape, lo=-1.4, hi=1.4)})
for mode in ("bilinear", "nearest"):
    case(f"grid_sample_{mode}_computed", 16, node("GridSample", ["x", "g"], ["y"], mode=mode), {"x": spot(1, 2, 4, 3), "g": spot(*grid_shape, lo=-1.4, hi=1.4)})
case("grid_sample_border_computed", 16, node("GridSample", ["x", "g"], ["y"], padding_mode="border", align_corners=1),
     {"x": spot(2, 1, 3, 3), "g": spot(2, 2, 2, 2, lo=-1.4, hi=1.4)})
case("affine_grid_sampled", 20, [node("AffineGrid", ["t", "s"], ["g"]), node("GridSample", ["x", "g"], ["y"])],
     {"x": spot(1, 1, 4, 4), "t": np.array([[[0.9, 0.2, 0.1], [-0.2, 0.8, -0.1]]], F)}, {"s": np.array([1, 1, 3, 3], I)})
for mode in ("avg", "max"):
    case(f"roi_align_{mode}", 16, node("RoiAlign", ["x", "r", "b"], ["y"], mode=mode, output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.5),
         {"x": spot(2, 2, 6, 5)}, {"r": np.array([[0, 1, 7, 9], [2.5, 0, 9, 6]], F), "b": np.array([1, 0], I)})
case("col2im", 18, node("Col2Im", ["x", "i", "b"], ["y"], pads=[1, 0, 0, 1], strides=[2, 1]),
     {"x": spot(1, 8, 8)}, {"i": np.array([4, 4], I), "b": np.array([2, 2], I)})
case("center_crop_pad", 18, node("CenterCropPad", ["x", "s"], ["y"], axes=[0, -1]), {"x": spot(3, 2, 4)}, {"s": np.array([6, 1], I)})
case("max_unpool", 13, node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
     {"x": spot(1, 1, 2, 2)}, {"i": np.array([[[[5, 7], [8, 14]]]], I)})
case("det", 13, node("Det", ["x"], ["y"]), {"x": spot(2, 3, 3)})

# Bits, and integers that two digits of a quotient are needed for.
U8, U16 = np.uint8, np.uint16
for name in ("And", "Or", "Xor"):
    floats("bitwise_" + name.lower(), 18, [node("Bitwise" + name, ["x", "z"], ["r"])], {"x": np.array([[7, 200, 255, 12]], U8), "z": np.array([[85], [240]], U8)})
floats("bitwise_mask", 18, [node("BitwiseAnd", ["x", "m"], ["r"])], {"x": np.array([-30000, 12345, -1, 77], np.int16)}, {"m": np.array(0x0FF0, np.int16)})
floats("bitwise_not", 18, [node("BitwiseNot", ["x"], ["r"])], {"x": np.array([-30000, 12345, -1, 0], np.int16)})
for name in ("LEFT", "RIGHT"):
    floats("bit_shift_" + name.lower(), 13, [node("BitShift", ["x", "s"], ["r"], direction=name)], {"x": np.array([7, 200, 255, 12], U8)}, {"s": np.array([1, 2, 3, 7], U8)})
floats("mod_wide", 13, [node("Mod", ["x", "z"], ["r"])], {"x": np.array([65535, 40000, 7, 65534], U16), "z": np.array([7, 39999, 60000, 3], U16)})
floats("div_wide", 14, [node("Div", ["x", "z"], ["r"])], {"x": np.array([65535, 40000, 7, 65534], U16), "z": np.array([7, 39999, 60000, 3], U16)})
LATER["div_wide"] = [node(c, [a], [b], to=6) for c, a, b in (("Cast", "x", "xi"), ("Cast", "z", "zi"))] + [
    node("Div", ["xi", "zi"], ["r"]), node("Cast", ["r"], ["y"], to=1)]
LATER["mod_wide"] = [node(c, [a], [b], to=6) for c, a, b in (("Cast", "x", "xi"), ("Cast", "z", "zi"))] + [
    node("Mod", ["xi", "zi"], ["r"]), node("Cast", ["r"], ["y"], to=1)]
# Arithmetic of integers wraps at the ends of their type.
wraps = {"add": ("Add", U8, 100, [0, 155, 156, 255]), "sub": ("Sub", U8, 128, [0, 127, 128, 255]),
         "mul": ("Mul", np.int8, 5, [-128, -26, 25, 127]), "sub_16": ("Sub", U16, 32768, [0, 32767, 32768, 65535]),
         "mul_16": ("Mul", np.int16, -321, [-32768, -102, 103, 32767])}
for name, (op, dtype, by, x) in wraps.items():
    floats("wrap_" + name, 14, [node(op, ["x", "c"], ["r"])], {"x": np.array(x, dtype)}, {"c": np.array(by, dtype)})
    LATER["wrap_" + name] = [node("Cast", ["x"], ["xi"], to=6), node("Cast", ["c"], ["ci"], to=6), node(op, ["xi", "ci"], ["w"]),
                             node("Cast", ["w"], ["r"], to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype))), node("Cast", ["r"], ["y"], to=1)]
floats("wrap_neg", 13, [node("Neg", ["x"], ["r"])], {"x": np.array([-128, 127, 0, -127], np.int8)})
floats("wrap_sum", 13, [node("ReduceSum", ["x"], ["r"], keepdims=0)], {"x": np.array([100, 27, 1, 127, 127], np.int8)})
LATER["wrap_sum"] = [node("Cast", ["x"], ["xi"], to=6), node("ReduceSum", ["xi"], ["w"], keepdims=0), node("Cast", ["w"], ["r"], to=3), node("Cast", ["r"], ["y"], to=1)]
floats("wrap_cast", 13, [node("Cast", ["x"], ["r"], to=5)], {"x": np.array([-32769, 32768, 70000, -1, 5], np.int32)})
floats("mean_ints", 18, [node("ReduceMean", ["x"], ["r"], keepdims=0)], {"x": np.array([-7, 2, -3, 1], np.int32)})
floats("cumsum_ints", 14, [node("CumSum", ["x", "a"], ["r"])], {"x": np.array([[200001, -7, 30], [5, 99999, -1]], np.int32)}, {"a": np.array(1, I)})


case("cast_float8", 19, [node("Cast", ["x"], ["r"], to=TensorProto.FLOAT8E4M3FN), node("Cast", ["r"], ["y"], to=1)],
     {"x": np.array([0.01, -0.3, 17.1, 20, 450, -26, 100, 1e4], F)})
# The logarithm of powers in bands, of many sizes.
bands = np.array([[0.5, 0], [0.02, 1], [0, 3e-3], [0, 0.25]], F)
many = np.array([[30, -4, 0.5, 6e-3], [3e-4, -2e-4, 1e-3, 2e-5], [0, 0, 0, 0]], F)
case("log_bands", 13, [node("Mul", ["x", "x"], ["p"]), node("MatMul", ["p", "w"], ["s"]), node("Max", ["s", "e"], ["c"]), node("Log", ["c"], ["y"])],
     {"x": many}, {"w": bands, "e": np.array(1e-10, F)})
case("log_bands_of_parts", 13, [
    node("Mul", ["x", "x"], ["s"]), node("Mul", ["z", "z"], ["t"]), node("Add", ["s", "t"], ["r"]), node("Sqrt", ["r"], ["m"]), node("Transpose", ["m"], ["n"], perm=[1, 0]),
    node("Mul", ["n", "n"], ["p"]), node("MatMul", ["w", "p"], ["q"]), node("Clip", ["q", "e"], ["c"]), node("Log", ["c"], ["l"]), node("Mul", ["l", "d"], ["y"])],
    {"x": many, "z": np.round(many[:, ::-1], 4)}, {"w": bands.T.copy(), "e": np.array(1e-8, F), "d": np.array(0.4342945, F)})
case("log_bands_plus", 13, [node("Pow", ["x", "two"], ["p"]), node("MatMul", ["p", "w"], ["s"]), node("Add", ["s", "e"], ["c"]), node("Log", ["c"], ["y"])],
     {"x": many}, {"w": bands, "e": np.array(1e-6, F), "two": np.array(2, F)})
# Bounds that bound nothing; masks beside sinks of attention.
case("clip_infinite", 13, [node("Softplus", ["x"], ["s"]), node("Clip", ["s", "lo", "hi"], ["y"])], {"x": rand(2, 5)},
     {"lo": np.array(0.5, F), "hi": np.array(np.inf, F)})
sinks = [node("MatMul", ["x", "w"], ["s"]), node("Add", ["s", "m"], ["t"]), node("Concat", ["t", "sink"], ["c"], axis=2)]
least = [node("ReduceMax", ["c"], ["top"], axes=[2], keepdims=1), node("Sub", ["c", "top"], ["d"])]
for name, low, nodes, last in [("", -np.inf, sinks, "c"), ("_least", np.finfo(F).min, sinks, "c"), ("_shifted", -np.inf, sinks + least, "d")]:
    case("softmax_sinks" + name, 13, nodes + [node("Softmax", [last], ["p"], axis=-1), node("Slice", ["p", "from", "to", "axis"], ["q"]), node("MatMul", ["q", "x"], ["y"])],
         {"x": rand(1, 4, 4)}, {"w": rand(4, 4), "m": np.triu(np.full((4, 4), low, F), 1), "sink": rand(1, 4, 1),
                                "from": np.array([0], I), "to": np.array([4], I), "axis": np.array([2], I)})
# Lists of tensors; n-grams of integers; what constants alone decide.
case("sequence_insert", 13, [node("SequenceEmpty", [], ["a"]), node("SequenceInsert", ["a", "x"], ["b"]), node("SequenceInsert", ["b", "z"], ["c"]),
    node("SequenceInsert", ["c", "w", "before"], ["d"]), node("SequenceErase", ["d", "first"], ["e"]), node("ConcatFromSequence", ["e"], ["y"], axis=1)],
    {"x": rand(2, 2), "z": rand(2, 1)}, {"w": rand(2, 3), "before": np.array(-1, I), "first": np.array(0, I)})
case("sequence_split", 13, [node("SplitToSequence", ["x", "sizes"], ["s"], axis=1), node("SequenceAt", ["s", "at"], ["a"]), node("SequenceLength", ["s"], ["n"]),
    node("Cast", ["n"], ["f"], to=1), node("Mul", ["a", "f"], ["y"])], {"x": rand(2, 6)}, {"sizes": np.array([1, 3, 2], I), "at": np.array(-2, I)})
case("sequence_split_each", 13, [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0), node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1)], {"x": rand(3, 2)})
grams = dict(min_gram_length=1, max_gram_length=2, max_skip_count=2, ngram_counts=[0, 3], ngram_indexes=[4, 0, 1, 2, 3], pool_int64s=[2, 3, 5, 5, 6, 3, 7])
tokens = np.array([[2, 3, 3, 7, 5, 6, 3], [5, 5, 6, 6, 6, 7, 0]], np.int32)
case("ngrams", 13, node("TfIdfVectorizer", ["x"], ["y"], mode="TF", **grams), {"x": tokens})
case("ngrams_weighed", 13, node("TfIdfVectorizer", ["x"], ["y"], mode="TFIDF", weights=[0.5, 2.0, 3.0, 0.25, 1.5], **grams), {"x": tokens})
case("ngrams_there", 13, node("TfIdfVectorizer", ["x"], ["y"], mode="IDF", weights=[0.5, 2.0, 3.0, 0.25, 1.5], **grams), {"x": tokens[0]})
twice = np.array([[1, 0, 1, 2, 0], [1, 3, 1, 0, 3]], F)
case("unique_constant", 13, [node("Unique", ["c"], ["u", "i", "inv", "n"], axis=1), node("Gather", ["x", "i"], ["g"], axis=1), node("Mul", ["g", "u"], ["p"]),
    node("Cast", ["n"], ["f"], to=1), node("Mul", ["p", "f"], ["y"])], {"x": rand(2, 5)}, {"c": twice})
case("unique_unsorted", 13, [node("Unique", ["c"], ["u"], sorted=0), node("Add", ["x", "u"], ["y"])], {"x": rand(4)}, {"c": twice})
boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], F)
box_scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.2, 0.8, 0.8, 0.1, 0.7, 0.05]]], F)
case("suppression_constant", 13, [node("NonMaxSuppression", ["b", "s", "most", "part", "least"], ["i"]), node("Cast", ["i"], ["f"], to=1), node("MatMul", ["f", "x"], ["y"])],
     {"x": rand(3, 2)}, {"b": boxes, "s": box_scores, "most": np.array([2], I), "part": np.array([0.5], F), "least": np.array([0.15], F)})

# What no case above has: masks that are no infinity, third operands beside two computed ones, one slope, quotients of one number, a test of a
# function, and products of 16 bits with numbers of as many.
case("softmax_mask_of_thousand", 13, [node("Add", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"])], {"x": rand(4, 4)}, {"m": np.triu(np.full((4, 4), -1000, F), 1)})
case("softmax_where_of_hundreds", 13, [node("Where", ["m", "x", "low"], ["a"]), node("Softmax", ["a"], ["y"])], {"x": rand(4, 4)},
     {"m": np.tri(4, dtype=bool), "low": np.array(-500, F)})
case("gemm_computed_bias", 13, node("Gemm", ["x", "z", "c"], ["y"], alpha=0.5, beta=2.0), {"x": rand(3, 4), "z": rand(4, 5)}, {"c": rand(5)})
case("conv_computed_weights_bias", 13, node("Conv", ["x", "z", "c"], ["y"], pads=[1, 1, 1, 1]), {"x": rand(1, 2, 5, 5), "z": rand(3, 2, 3, 3)}, {"c": rand(3)})
case("prelu_one", 13, node("PRelu", ["x", "s"], ["y"]), {"x": rand(2, 5)}, {"s": np.array([0.3], F)})
case("div_of_number", 13, node("Div", ["c", "x"], ["y"]), {"x": rand(2, 5, lo=0.5)}, {"c": np.array(1.7, F)})
case("greater_of_sigmoid", 13, [node("Sigmoid", ["x"], ["s"]), node("Greater", ["s", "c"], ["b"]), node("Cast", ["b"], ["y"], to=1)], {"x": rand(2, 5)}, {"c": np.array(0.6, F)})
for name, by in (("number", np.array(30000, np.int16)), ("each", np.array([-32768, 30000, 32767, -29999], np.int16))):
    floats("wrap_mul_16_large_" + name, 14, [node("Mul", ["x", "c"], ["r"])], {"x": np.array([32767, -32768, 25001, -31], np.int16)}, {"c": by})
    LATER["wrap_mul_16_large_" + name] = [node("Cast", ["x"], ["xi"], to=6), node("Cast", ["c"], ["ci"], to=6), node("Mul", ["xi", "ci"], ["w"]),
                                          node("Cast", ["w"], ["r"], to=5), node("Cast", ["r"], ["y"], to=1)]

for name, by in (("below", np.triu(np.full((4, 4), 1000, F), 1)), ("above", np.diag(np.full(4, -1000, F)))):
    case("softmax_of_difference_" + name, 13, [node("Sub", ["x", "m"], ["a"]), node("Softmax", ["a"], ["y"])], {"x": rand(4, 4)}, {"m": by})

# Scales whose products and quotients are whole numbers in float32, and a little less in exact numbers.
forty = np.arange(40, dtype=F).reshape(1, 1, 40)
for name, scale, mode, nearest in [("product", 0.7, "half_pixel", "round_prefer_floor"), ("quotient", 0.6, "asymmetric", "floor"),
                                   ("quotient_half", 0.6, "half_pixel", "floor"), ("quotient_centre", 0.6, "half_pixel_symmetric", "floor")]:
    case("resize_whole_" + name, 13 if name != "quotient_centre" else 19, node("Resize", ["x", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode=mode,
         nearest_mode=nearest), {"x": forty}, {"s": np.array([1, 1, scale], F)})
case("resize_whole_linear", 13, node("Resize", ["x", "", "s"], ["y"], mode="linear"), {"x": forty}, {"s": np.array([1, 1, 1.4], F)})
case("resize_set10", 10, node("Resize", ["x", "s"], ["y"], mode="nearest"), {"x": forty}, {"s": np.array([1, 1, 0.6], F)})
case("resize_to_one", 13, node("Resize", ["x", "", "s"], ["y"], mode="cubic", coordinate_transformation_mode="pytorch_half_pixel"),
     {"x": np.array([[[[1, -2, 0.5, 3, -1.5]]]], F)}, {"s": np.array([1, 1, 1, 0.3], F)})
case("pad_wrap_cut", 19, node("Pad", ["x", "p"], ["y"], mode="wrap"), {"x": np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], F)}, {"p": np.array([2, -1, -1, 2], I)})
# Lists without an element.
case("nonzero_none", 13, [node("NonZero", ["c"], ["i"]), node("Cast", ["i"], ["f"], to=1), node("Concat", ["f", "x"], ["y"], axis=1)],
     {"x": np.array([[1, 2], [3, 4]], F)}, {"c": np.zeros((2, 3), F)})
case("suppression_none", 13, [node("NonMaxSuppression", ["b", "s"], ["i"]), node("Cast", ["i"], ["f"], to=1), node("Concat", ["f", "x"], ["y"], axis=0)],
     {"x": np.array([[1, 2, 3]], F)}, {"b": boxes, "s": box_scores})

# Quantised numbers that are too large for their type, which become NaN without saturation.
case("quantise_beyond", 21, [node("QuantizeLinear", ["x", "s"], ["q"], saturate=0, output_dtype=TensorProto.FLOAT8E4M3FN), node("Cast", ["q"], ["f"], to=1),
     node("IsNaN", ["f"], ["n"]), node("Cast", ["n"], ["y"], to=1)], {"x": np.array([-1000, -200, 0, 3, 230, 250], F)}, {"s": np.array(0.5, F)})


def main(folder, *names):
    os.makedirs(folder, exist_ok=True)
    for name in names or CASES:
        opset, nodes, inputs, consts, outputs = CASES[name]
        info = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in inputs.items()]
        result = [helper.make_tensor_value_info(k, TensorProto.FLOAT, None) for k in outputs]
        init = [numpy_helper.from_array(v, k) for k, v in consts.items()]
        graph = helper.make_graph(nodes, name, info, result, init)
        opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1 if d != ML else ml_opset(nodes)) for d in {n.domain for n in nodes} - {""}]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        data = ran = model.SerializeToString()
        if name in LATER:
            graph = helper.make_graph(LATER[name], name, info, result, init)
            ran = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
        try:
            session = onnxruntime.InferenceSession(ran, providers=["CPUExecutionProvider"])
            values = session.run(list(outputs), inputs)
        except Exception as e:
            sys.exit(f"{name}: {e}")
        with open(os.path.join(folder, name + ".onnx"), "wb") as f:
            f.write(data)
        flat = lambda a: [float(f"{v:.7g}") for v in np.asarray(a, np.float64).ravel()]
        with open(os.path.join(folder, name + ".json"), "w") as f:
            json.dump({
                "input_data": [flat(v) for v in inputs.values()],
                "input_shapes": [list(v.shape) for v in inputs.values()],
                "output_data": [flat(v) for v in values],
                "output_shapes": [list(v.shape) for v in values],
            }, f)
            f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
