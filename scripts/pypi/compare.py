"""Prints a line of a table: how far what `prove-model --json` says is from ONNX Runtime.

    python scripts/pypi/compare.py NAME.want.npz REPORT.json

Exits with 1 where an output is off by more than 0.5 % of its range, zero included.
"""

import json
import os
import sys

import numpy as np

want, report = np.load(sys.argv[1]), json.load(open(sys.argv[2]))
name = os.path.basename(sys.argv[1]).removesuffix(".want.npz")
errors = []
for out in report["outputs"]:
    w = want[out["name"]].astype(np.float64).ravel()
    span = max(w.max(), 0) - min(w.min(), 0)
    errors.append(float(np.abs(np.array(out["values"]) - w).max() / span))
cpu = {p["name"]: p["cpu_seconds"] for p in report["phases"]}
prove = sum(cpu.get(k, 0) for k in ("run model", "commit witness", "prove", "open"))
listed = ", ".join(f"{100 * e:.3f} %" for e in errors)
print(
    f"| {name} | {report['parameters'] / 1e6:.2f} M | {listed} | {cpu.get('quantise', 0):.1f} | {prove:.1f}"
    f" | {report['peak_memory_bytes'] / 1e9:.2f} | {report['proof_bytes'] / 1000:.0f} |"
)
sys.exit(max(errors) > 5e-3)
