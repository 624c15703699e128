"""Proves the models of torchvision and prints a table.

    python scripts/torchvision/run.py [--models REGEX] [--exporters dynamo,legacy]
        [--jobs N] [--threads N] [--limit SECONDS] [--out FILE] PROVE_MODEL

Each model is made with random weights (its own initialisation, from a fixed seed; a
last layer that it leaves at zero is drawn at a deviation of 0.02), exported at a fixed
shape, and proved on an image that calibration has not seen. "error" is against ONNX
Runtime, in units of the largest output's range. --out keeps a JSON object a run, and
runs that it already has are not done again.
"""

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

KINDS = ("classification", "segmentation", "backbone")
# Backbones of torchvision's detectors: a trunk with a feature pyramid.
BACKBONES = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_large")


def models():
    """(kind, name) of everything that is tried, small images of size 224."""
    import torchvision.models as m

    for name in m.list_models(module=m):
        yield "classification", name
    for name in m.list_models(module=m.segmentation):
        yield "segmentation", name
    for name in BACKBONES:
        yield "backbone", name


def build(kind, name):
    import torch
    import torchvision.models as m

    torch.manual_seed(1)
    if kind == "classification":
        extra = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
        net = m.get_model(name, weights=None, **extra)
    elif kind == "segmentation":
        net = m.get_model(name, weights=None, weights_backbone=None)
    elif name.startswith("resnet"):
        from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

        net = resnet_fpn_backbone(backbone_name=name, weights=None)
    else:
        from torchvision.models.detection.backbone_utils import mobilenet_backbone

        net = mobilenet_backbone(backbone_name=name, weights=None, fpn=True)
    for p in net.parameters():
        if p.dim() > 1 and not p.any():
            torch.nn.init.normal_(p, std=0.02)

    class Tensors(torch.nn.Module):
        """Outputs as a tuple: segmentation and backbones return dictionaries."""

        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            y = self.net(x)
            if isinstance(y, dict):
                return tuple(y.values())
            return y if isinstance(y, torch.Tensor) else tuple(y)

    return Tensors().eval()


def export(kind, name, exporter, folder):
    import numpy as np
    import onnxruntime
    import torch

    torch.set_num_threads(1)
    side = 299 if name == "inception_v3" else 224
    rng = np.random.default_rng(7)
    images = rng.normal(size=(3, 3, side, side)).astype(np.float32)
    net = build(kind, name)
    path = os.path.join(folder, "network.onnx")
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        options = {"dynamo": True} if exporter == "dynamo" else {"dynamo": False, "opset_version": 17}
        torch.onnx.export(net, (torch.from_numpy(images[:1]),), path, input_names=["image"], **options)
    np.save(os.path.join(folder, "calibration.npy"), images[1:])
    np.save(os.path.join(folder, "input.npy"), images[:1])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    np.savez(os.path.join(folder, "expected.npz"), *session.run(None, {session.get_inputs()[0].name: images[:1]}))
    return sum(p.numel() for p in net.parameters())


def one(job, args):
    kind, name, exporter = job
    row = {"kind": kind, "model": name, "exporter": exporter}
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, OMP_NUM_THREADS="1")
        made = subprocess.run(
            [sys.executable, __file__, "--export", kind, name, exporter, folder], capture_output=True, text=True, env=env
        )
        if made.returncode != 0:
            return row | {"not_exported": (made.stderr.strip().splitlines() or ["?"])[-1][:300]}
        row["parameters"] = int(made.stdout.split()[-1])
        begin = time.time()
        files = [os.path.join(folder, f) for f in ("network.onnx", "input.npy", "calibration.npy", "x.proof", "x.vk")]
        command = [args.prove_model, "--model", files[0], "--input", files[1], "--calibration", files[2], "--proof", files[3], "--vk", files[4]]
        command += ["--no-cache", "--quiet", "--json", "--threads", str(args.threads)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=args.limit)
        except subprocess.TimeoutExpired:
            return row | {"slow": args.limit}
        row["seconds"] = time.time() - begin
        if not run.stdout.startswith("{"):
            return row | {"refused": run.stderr.strip()[:600]}
        got = json.loads(run.stdout)
        phases = {p["name"]: p["cpu_seconds"] for p in got["phases"]}
        row |= {
            "error": error(got["outputs"], os.path.join(folder, "expected.npz")),
            "float_error": max(o["range_error"] for o in got["outputs"]),
            "quantise_cpu": phases.get("quantise", 0) + phases.get("calibrate", 0),
            "commit_cpu": phases.get("commit model", 0),
            "prove_cpu": sum(v for k, v in phases.items() if k in ("run model", "commit witness", "prove", "open")),
            "peak_gb": got["peak_memory_bytes"] / 1e9,
            "proof_kb": got["proof_bytes"] / 1e3,
        }
        checked = subprocess.run(
            [args.prove_model, "verify", "--proof", files[3], "--vk", files[4], "--input", files[1], "--json"], capture_output=True, text=True
        )
        row["verified"] = checked.returncode == 0
        return row


def error(outputs, expected):
    """The largest difference from ONNX Runtime's outputs, in units of their range."""
    import numpy as np

    worst = 0.0
    for got, want in zip(outputs, np.load(expected).values(), strict=True):
        values = np.array([np.nan if v is None else v for v in got["values"]], dtype=np.float64)
        span = max(float(want.max()) - float(want.min()), 1e-300)
        worst = max(worst, float(np.abs(values - want.astype(np.float64).ravel()).max()) / span)
    return worst


def table(rows):
    print("| model | exporter | parameters | error | quantise cpu s | prove cpu s | peak GB | proof KB |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    proved, bad = set(), []
    for r in sorted(rows, key=lambda r: (KINDS.index(r["kind"]), r["model"], r["exporter"])):
        name = r["model"] + ("" if r["kind"] == "classification" else f" ({r['kind']})")
        if "error" in r:
            print(
                f"| {name} | {r['exporter']} | {r['parameters'] / 1e6:.1f} M | {100 * r['error']:.3f} % | {r['quantise_cpu']:.1f} | "
                f"{r['prove_cpu']:.1f} | {r['peak_gb']:.2f} | {r['proof_kb']:.0f} |"
            )
            if r["error"] <= 0.005 and r["verified"]:
                proved.add((r["kind"], r["model"]))
            else:
                bad.append(name)
        else:
            why = r.get("refused") or r.get("not_exported") or f"not done in {r.get('slow')} s"
            word = "refused" if "refused" in r else "not exported" if "not_exported" in r else "slow"
            print(f"| {name} | {r['exporter']} | | {word}: {why.splitlines()[0].replace('|', '/')} | | | | |")
    print(f"\n{len(proved)} models proved and verified within 0.5 %; beyond it: {', '.join(bad) or 'none'}.")
    return bad


def main():
    if sys.argv[1:2] == ["--export"]:
        print(export(*sys.argv[2:]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prove_model")
    parser.add_argument("--models", default=".", help="regular expression of names")
    parser.add_argument("--exporters", default="dynamo,legacy")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1800, help="seconds for a model")
    parser.add_argument("--total", type=float, default=float("inf"), help="seconds after which no model is begun")
    parser.add_argument("--out", help="file of results, a JSON object a line")
    args = parser.parse_args()
    rows = []
    if args.out and os.path.exists(args.out):
        rows = [json.loads(line) for line in open(args.out)]
    done = {(r["kind"], r["model"], r["exporter"]) for r in rows}
    jobs = [(k, n, e) for e in args.exporters.split(",") for k, n in models() if re.search(args.models, n)]
    begin = time.time()

    def work(job):
        if job in done or time.time() - begin > args.total:
            return
        try:
            row = one(job, args)
        except Exception as e:  # one model must not end the others
            row = {"kind": job[0], "model": job[1], "exporter": job[2], "not_exported": repr(e)[:300]}
        rows.append(row)
        print(f"{time.time() - begin:6.0f} s  {json.dumps(row)[:300]}", file=sys.stderr, flush=True)
        if args.out:
            with open(args.out, "a") as f:
                f.write(json.dumps(row) + "\n")

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(work, jobs))
    return 1 if table(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
