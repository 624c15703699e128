"""Proves models in every precision mode and prints a table: formats chosen, error, time.

    python scripts/modes/run.py PROVE_MODEL FOLDER... [--modes w8a8,auto,exact]

A FOLDER is a model, as scripts/accuracy/make.py and scripts/modes/make.py write them:
network.onnx, samples calibration.npz and further ones test.npz, of which the first is
proved, and maybe flags, further flags of prove-model, one a line. "error" is the largest
difference from the float model, in units of the output's range, of any output of that
sample, which calibration has not seen. Seconds are of the processor.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

import numpy as np


def first(path, to):
    """Writes the first of the samples in a file, which have an axis of their own."""
    np.savez(to, **{k: v[0] for k, v in np.load(path).items()})
    return to


def bits(formats):
    """20 (3), 20/16 (2): how many values have so many bits, and bits of weights."""
    count = collections.Counter()
    for f in formats or []:
        b, w = f.get("bits"), f.get("weights")
        count[(b or 0, w or 0)] += 1
    name = lambda b, w: f"{b or 'usual'}/{w}" if w else str(b)
    return ", ".join(f"{name(*k)} ({n})" for k, n in sorted(count.items())) or "none"


def run(binary, folder, mode, cache):
    model = os.path.join(folder, "network.onnx")
    flags = []
    if os.path.exists(os.path.join(folder, "flags")):
        flags = open(os.path.join(folder, "flags")).read().split()
    flags += ["--calibration", os.path.join(folder, "calibration.npz"), "--mode", mode]
    env = dict(os.environ, XDG_CACHE_HOME=cache)
    with tempfile.TemporaryDirectory() as scratch:
        at = lambda name: os.path.join(scratch, name)
        sample = first(os.path.join(folder, "test.npz"), at("input.npz"))
        files = ["--proof", at("x.proof"), "--vk", at("x.vk")]
        proved = subprocess.run([binary, "--model", model, "--input", sample, *flags, *files, "--json", "--quiet"], capture_output=True, text=True, env=env)
        if not proved.stdout.startswith("{"):
            return f"refused: {proved.stderr.strip().splitlines()[-1]}"
        report = json.loads(proved.stdout)
        checked = subprocess.run([binary, "verify", *files, "--input", sample], capture_output=True, text=True)
        if checked.returncode != 0:
            return "not valid"
        # The cache has the formats, so that this chooses nothing.
        chosen = subprocess.run([binary, "inspect", "--model", model, "--input", sample, *flags, "--json"], capture_output=True, text=True, env=env, check=True)
        formats = json.loads(chosen.stdout).get("formats")
        key = json.loads(subprocess.run([binary, "inspect", "--vk", at("x.vk"), "--json"], capture_output=True, text=True, check=True).stdout)
    cpu = {p["name"]: p["cpu_seconds"] for p in report["phases"]}
    lookups = sum(s["entries"] for s in key["steps"] if s["kind"] == "look-up")
    error = max(o["range_error"] for o in report["outputs"])
    prove = sum(cpu.get(k, 0) for k in ("run model", "commit witness", "prove", "open"))
    return " | ".join([
        bits(formats), f"{lookups / 1e6:.2f} M", f"{100 * error:.3f}", f"{cpu.get('calibrate', 0) + cpu.get('quantise', 0):.1f}", f"{prove:.1f}",
        f"{report['peak_memory_bytes'] / 1e9:.2f}", f"{report['proof_bytes'] / 1e3:.0f}",
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prove_model")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--modes", default="w8a8,auto,exact")
    args = parser.parse_args()
    print("| model | mode | bits of values with a format (how many values) | look-ups | error % | quantise cpu s | prove cpu s | peak GB | proof KB |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|", flush=True)
    bad = False
    for folder in args.folders:
        for mode in args.modes.split(","):
            with tempfile.TemporaryDirectory() as cache:
                line = run(args.prove_model, folder, mode, cache)
            bad |= line.startswith(("refused", "not valid"))
            print(f"| {os.path.basename(os.path.normpath(folder))} | {mode} | {line} |", flush=True)
    sys.exit(bad)


main()
