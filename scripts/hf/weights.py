"""Makes the small files of weights that the tests of hf/safetensors and hf/gguf read, with the formats' reference libraries.

  python scripts/hf/weights.py        needs numpy 2.4.6, ml_dtypes 0.6.0, safetensors 0.8.0 and gguf 0.19.0 from PyPI

Beside each tensor NAME stands NAME.expected, the float32 numbers that the reference decodes it to.
"""
import json
from pathlib import Path

import gguf
import ml_dtypes
import numpy as np
from gguf import GGMLQuantizationType as Q
from safetensors.numpy import save

root = Path(__file__).resolve().parents[2] / "hf"
rng = np.random.default_rng(5)


def safetensors():
    out = root / "safetensors/testdata"
    floats = rng.standard_normal(24).astype(np.float64) * np.logspace(-3, 2, 24)
    floats[:4] = [0.0, -0.0, 1.0, 2.0**-9]
    tensors = {}

    for name, kind in {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
                       "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2}.items():
        a = floats.astype(kind).reshape(2, 3, 4)
        tensors[name] = a
        tensors[name + ".expected"] = a.astype(np.float32)
    # Every pattern of eight bits that is finite.
    for name, kind in (("all.F8_E4M3", ml_dtypes.float8_e4m3fn), ("all.F8_E5M2", ml_dtypes.float8_e5m2)):
        a = np.arange(256, dtype=np.uint8).view(kind)
        a = a[np.isfinite(a.astype(np.float32))]
        tensors[name] = a
        tensors[name + ".expected"] = a.astype(np.float32)
    for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        i = np.iinfo(kind)
        top = i.max if kind != "uint64" else 2**63 - 1
        tensors[kind] = np.array([i.min, 0, 1, 5, top], dtype=kind)
    tensors["bool"] = np.array([True, False, True])
    tensors["scalar"] = np.array(2.5, dtype=np.float32)
    tensors["empty"] = np.zeros((0, 3), dtype=np.float32)
    (out / "types.safetensors").write_bytes(save(tensors, {"format": "np"}))
    # Two shards with an index.
    shards = {"model-00001-of-00002.safetensors": ["F32", "int64"], "model-00002-of-00002.safetensors": ["BF16"]}
    for file, names in shards.items():
        (out / file).write_bytes(save({n: tensors[n] for n in names}))
    where = {n: file for file, names in shards.items() for n in names}
    (out / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": where}, indent=1) + "\n")


def blocks(kind, n):
    """n random blocks of a type, with scales that are finite and of a natural size."""
    elems, size = gguf.GGML_QUANT_SIZES[kind]
    b = rng.integers(0, 256, (n, size), dtype=np.uint8)
    scale = lambda: (rng.standard_normal(n) * 0.01).astype(np.float16).view(np.uint8).reshape(n, 2)
    at = {Q.Q6_K: [208], Q.Q4_K: [0, 2], Q.Q5_K: [0, 2], Q.Q4_1: [0, 2], Q.Q5_1: [0, 2],
          Q.Q2_K: [80, 82], Q.Q3_K: [108], Q.TQ1_0: [52], Q.TQ2_0: [64], Q.MXFP4: [], Q.IQ1_M: []}.get(kind, [0])
    for i in at:
        b[:, i:i + 2] = scale()
    if kind == Q.IQ1_M:
        b[:, 55] = 0x20 | b[:, 55] & 15  # the scale's upper bits, of a small number
    if kind == Q.MXFP4:
        b[:, 0] = rng.integers(112, 132, n)  # an exponent
        b[:3, 0] = 0, 1, 2  # numbers of less than 24 bits
    return b.reshape(1, n * size), elems


def gguf_file():
    w = gguf.GGUFWriter(root / "gguf/testdata/types.gguf", "test")
    w.add_uint8("a.uint8", 200)
    w.add_int32("a.int32", -7)
    w.add_float32("a.float32", 0.5)
    w.add_bool("a.bool", True)
    w.add_string("a.string", "naïve")
    w.add_uint64("a.uint64", 1 << 40)
    w.add_array("a.strings", ["x", "", "yz"])
    w.add_array("a.numbers", [1, -2, 3])
    w.add_array("a.floats", [0.25, -1.5])
    for kind in (Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q5_1, Q.Q8_0, Q.Q4_K, Q.Q5_K, Q.Q6_K,
                 Q.Q2_K, Q.Q3_K, Q.IQ4_NL, Q.IQ4_XS, Q.TQ1_0, Q.TQ2_0, Q.MXFP4,
                 Q.IQ2_XXS, Q.IQ2_XS, Q.IQ2_S, Q.IQ3_XXS, Q.IQ3_S, Q.IQ1_S, Q.IQ1_M):
        raw, elems = blocks(kind, 256 // gguf.GGML_QUANT_SIZES[kind][0] * 2)
        raw = raw.reshape(2, -1)
        w.add_tensor(kind.name, raw, raw_dtype=kind)
        w.add_tensor(kind.name + ".expected", gguf.dequantize(raw, kind).astype(np.float32).reshape(2, -1))
    x = rng.standard_normal((3, 5)).astype(np.float32)
    w.add_tensor("F32", x)
    w.add_tensor("F16", x.astype(np.float16))
    w.add_tensor("F16.expected", x.astype(np.float16).astype(np.float32))
    bf = gguf.quantize(x, Q.BF16)
    w.add_tensor("BF16", bf, raw_dtype=Q.BF16)
    w.add_tensor("BF16.expected", gguf.dequantize(bf, Q.BF16))
    w.add_tensor("I32", np.array([-1, 2, 1 << 30], dtype=np.int32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def grids():
    """The rows of the types "IQ", as hf/gguf/grids.go reads them."""
    data = b""
    for name, bits in (("IQ2_XXS", 2), ("IQ2_XS", 2), ("IQ2_S", 2), ("IQ1_S", 2), ("IQ3_XXS", 4), ("IQ3_S", 4)):
        kind = getattr(gguf.quants, name)
        kind.init_grid()
        places = np.searchsorted(np.array(kind.grid_map), kind.grid.flatten().astype(int)).reshape(-1, 8 // bits)
        data += sum(places[:, i] << bits * i for i in range(8 // bits)).astype(np.uint8).tobytes()
    (root / "gguf/grids.bin").write_bytes(data)


grids()
safetensors()
gguf_file()
