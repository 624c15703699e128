"""Prints a line of a table: how far what `prove-model --json` says is from ONNX Runtime.

    python scripts/classical/compare.py NAME.want.npz REPORT.json

Exits with 1 where a class is another one, or a number is off by more than 0.1 %, or
the score of a class by more than 1 %, of the range of all. A class is also right where the best two scores are within 10^-6, which is
within what adding up floats in another order changes: ONNX Runtime gives one class or
the other there by how many rows it is given. Such rows are counted.
"""

import json
import os
import sys

import numpy as np

want, report = np.load(sys.argv[1]), json.load(open(sys.argv[2]))
name = os.path.basename(sys.argv[1]).removesuffix(".want.npz").replace("-", ", ").replace("_", " ")
classes, error = "", 0.0
wrong = 0
for out in report["outputs"]:
    w = want[out["name"]].astype(np.float64).ravel()
    got = np.array(out["values"], np.float64).ravel()
    if np.issubdtype(want[out["name"]].dtype, np.integer):
        other = w != got
        scores = [want[k] for k in want.files if np.ndim(want[k]) == 2 and want[k].shape[1] > 1]
        if scores:
            best = np.sort(scores[0], axis=1)[:, -2:]
            tied = other & (best[:, 1] - best[:, 0] < 1e-6)
        else:
            tied = np.zeros_like(other)
        wrong = int((other & ~tied).sum())
        classes = f"{len(w) - wrong} of {len(w)}" + (f", {tied.sum()} tied" if tied.any() else "")
    else:
        span = max(w.max(), 0) - min(w.min(), 0)
        error = max(error, float(np.abs(got - w).max() / span))
moved = sum(s["count"] for s in report["saturated"] or [] if s["where"] == "the input")
cpu = {p["name"]: p["cpu_seconds"] for p in report["phases"]}
prove = sum(cpu.get(k, 0) for k in ("run model", "commit witness", "prove", "open"))
print(f"| {name} | {classes} | {100 * error:.4f} % | {moved} | {prove:.1f} | {report['proof_bytes'] / 1000:.0f} |")
sys.exit(1 if wrong or error > (1e-2 if classes else 1e-3) else 0)
