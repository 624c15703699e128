#!/usr/bin/env python3
"""Compares two programs on the same models: scripts/pair.py [-n PAIRS] OLD NEW ARGUMENT...

Runs OLD and NEW in turns with the arguments and --json, which are those of `bench model` or of a
proof, and prints the medians of both and of the quotients of pairs: processor seconds of the
commitment to the model and of the proof, seconds of verifying, bytes of the proof and of memory.
What OLD does not know, such as ranges that NEW is to take in place of searching for them, is given
to NEW alone with --new. Processor time is user and system time together.
"""

import argparse
import json
import statistics
import subprocess

PROVING = ("run model", "commit witness", "prove", "open")


def measure(program, arguments):
    """Returns what a run measured, by model."""
    out = subprocess.run([program, *arguments, "--json"], stdout=subprocess.PIPE, check=True).stdout
    runs = json.loads(out)
    return {run["model"]: figures(run) for run in (runs if isinstance(runs, list) else [runs])}


def figures(run):
    """Returns the figures of one model, of `bench model` or of a proof."""
    if run.get("prove_cpu_seconds"):
        commit, prove, verify = run["commit_cpu_seconds"], run["prove_cpu_seconds"], run["verify_seconds"]
    else:
        cpu = {phase["name"]: phase["cpu_seconds"] for phase in run["phases"]}
        commit, prove, verify = cpu.get("commit model", 0), sum(cpu[name] for name in PROVING), cpu.get("self-check", 0)
    return {"commit": commit, "prove": prove, "verify": verify, "proof": run["proof_bytes"], "memory": run["peak_memory_bytes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=5, help="pairs of runs (5)")
    parser.add_argument("--new", default="", help="further arguments for NEW, separated by spaces")
    parser.add_argument("programs", nargs=2, metavar="PROGRAM", help="OLD and NEW")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    old, new = args.programs
    pairs = []
    for i in range(args.n):
        first = measure(old, args.arguments) if i % 2 == 0 else None
        second = measure(new, args.arguments + args.new.split())
        pairs.append((first or measure(old, args.arguments), second))
    print(f"{'':24}{'':10}{'old':>14}{'new':>14}{'new/old':>10}")
    for model in pairs[0][0]:
        for name in pairs[0][0][model]:
            before = [pair[0][model][name] for pair in pairs]
            after = [pair[1][model][name] for pair in pairs]
            quotient = statistics.median(b / a if a else 0 for a, b in zip(before, after))
            print(f"{model[:23]:24}{name:10}{statistics.median(before):14.4f}{statistics.median(after):14.4f}{quotient:10.2f}")


if __name__ == "__main__":
    main()
