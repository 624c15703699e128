"""Proves one model with EZKL and prints a line of figures.

usage: compare-ezkl.py FOLDER, with network.onnx and input.json in it.

Public input and output, weights fixed in the circuit: the statement that
prove-model proves. Calibration is EZKL's own ("resources"). The structured
reference string is made here and not counted.
"""

import asyncio
import inspect
import json
import os
import resource
import sys
import tempfile
import time

import ezkl


def call(f, *args, **kwargs):
    result = f(*args, **kwargs)
    if inspect.isawaitable(result):
        return asyncio.get_event_loop().run_until_complete(result)
    return result


def main(folder):
    model, data = os.path.join(folder, "network.onnx"), os.path.join(folder, "input.json")
    with tempfile.TemporaryDirectory() as tmp:
        path = lambda name: os.path.join(tmp, name)
        args = ezkl.PyRunArgs()
        args.input_visibility, args.output_visibility, args.param_visibility = "public", "public", "fixed"
        args.variables = [("batch_size", 1)]
        call(ezkl.gen_settings, model, path("settings"), py_run_args=args)
        call(ezkl.calibrate_settings, data, model, path("settings"), "resources")
        call(ezkl.compile_circuit, model, path("circuit"), path("settings"))
        with open(path("settings")) as f:
            rows = json.load(f)["run_args"]["logrows"]
        call(ezkl.gen_srs, path("srs"), rows)

        began = time.time()
        call(ezkl.setup, path("circuit"), path("vk"), path("pk"), srs_path=path("srs"))
        setup = time.time() - began
        began = time.time()
        call(ezkl.gen_witness, data, path("circuit"), path("witness"))
        call(ezkl.prove, path("witness"), path("circuit"), path("pk"), path("proof"), srs_path=path("srs"))
        prove = time.time() - began
        began = time.time()
        if not call(ezkl.verify, path("proof"), path("settings"), path("vk"), srs_path=path("srs")):
            raise SystemExit("EZKL rejects its own proof")
        verify = time.time() - began
        with open(path("proof")) as f:
            size = (len(json.load(f)["hex_proof"]) - 2) // 2
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        name = os.path.basename(folder.rstrip("/"))
        print(f"| {name} | EZKL | {setup:.2f} | {prove:.2f} | {1e3 * verify:.1f} | "
              f"{size / 1e3:.1f} | {peak:.2f} | 2^{rows} rows |", file=sys.__stdout__)


main(sys.argv[1])
