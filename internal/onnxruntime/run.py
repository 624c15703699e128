"""Runs an ONNX model with ONNX Runtime: a job as JSON on standard input, its outputs as JSON on standard output. Numbers are float64, little-endian, in base64."""
import base64
import json
import sys

try:
    import numpy as np
    import onnxruntime as ort
except ImportError as e:
    sys.exit(f"{sys.executable} has no package {e.name}: install onnxruntime, or name an interpreter that has it in PROVE_MODEL_PYTHON")

types = {"float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_} | {
    f"{u}int{n}": np.dtype(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)}
job = json.load(sys.stdin)
ort.set_default_logger_severity(3)
session = ort.InferenceSession(job["model"], providers=["CPUExecutionProvider"])
feed = {}
for i in session.get_inputs():
    given = job["inputs"].get(i.name)
    if given is None:
        continue  # it has a default, or ONNX Runtime says that it is missing
    kind = i.type.removeprefix("tensor(").removesuffix(")")
    if kind not in types:
        sys.exit(f"input {i.name} is of type {i.type}, which cannot be made of numbers")
    shape = given["shape"] if given["shape"] is not None else [d if isinstance(d, int) else -1 for d in i.shape]
    feed[i.name] = np.frombuffer(base64.b64decode(given["data"]), "<f8").astype(types[kind]).reshape(shape)
made = session.run(job["outputs"], feed)
for name, v in zip(job["outputs"], made):
    if not isinstance(v, np.ndarray) or v.dtype.kind not in "fiub":
        sys.exit(f"output {name} is no tensor of numbers")
json.dump([{"shape": list(v.shape), "data": base64.b64encode(np.asarray(v, "<f8").tobytes()).decode()} for v in made], sys.stdout)
