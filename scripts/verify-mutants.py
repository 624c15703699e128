#!/usr/bin/env python3
"""Keys with altered structure, proved honestly: both verifiers must say the same.

  scripts/verify-mutants.py [--count N] [--altered N] [--seed S]

Reads keys, proofs and the command's verdicts from scripts/mutants, and holds the
Python verifier's against them: whether the key is one, and whether the proof
proves it. With --altered come golden files after the keys that were altered,
and links in either case. The
same seed gives the same files. Fails if the two differ, or if hardly any key is
valid. Before these come keys that are built by hand, of which both must say what
the format does. What they differ about is kept in dist/mutants. Every verifier is
a forked process with bounded memory: one that wants more has no verdict.
"""

import argparse
import base64
import collections
import concurrent.futures
import json
import os
import pathlib
import resource
import subprocess
import sys

from verifier import frames, key, link
from verifier.errors import Invalid
from verifier.verifier import Verifier

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "dist" / "mutants"
WAITING = 64  # mutants that nobody has verified yet, at most
MEMORY = 2 << 30  # bytes of a process that verifies


def bounded():
    """Bounds this process's memory, and lets others go first."""
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def verdict(text):
    """The mutant, whether its key is one, whether its proof holds, and why not."""
    mutant = json.loads(text)
    key_bytes, proof_bytes = (base64.b64decode(mutant[name] or "") for name in ("Key", "Proof"))
    mutant.update(Key=key_bytes, Proof=proof_bytes)
    readable = False
    try:
        if "Former" in mutant:
            mutant["Former"] = base64.b64decode(mutant["Former"])
            key.read(mutant["Former"])
            key.read(key_bytes)
            readable = True
            link.check(mutant["Former"], key_bytes, proof_bytes, 1)
            return mutant, True, True, ""
        vk = key.read(key_bytes)
        readable = True
        Verifier(vk, frames.read(proof_bytes, vk)).verify()
    except Invalid as reason:
        return mutant, readable, False, str(reason)
    except Exception as problem:  # a verifier that fails has no verdict
        return mutant, readable, None, repr(problem)
    return mutant, True, True, ""


def keep(name, mutant):
    KEPT.mkdir(parents=True, exist_ok=True)
    for suffix, data in ((".vk", mutant["Key"]), (".proof", mutant["Proof"]), (".former.vk", mutant.get("Former", b""))):
        (KEPT / (name + suffix)).write_bytes(data)


def verdicts(command):
    """Of all mutants, in their order, made on all cores and with a few waiting alone."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as mutants:
        with concurrent.futures.ProcessPoolExecutor(initializer=bounded) as pool:
            waiting = collections.deque()
            for line in mutants.stdout:
                waiting.append(pool.submit(verdict, line))
                if len(waiting) > WAITING:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        if mutants.wait() != 0:
            raise SystemExit("verify-mutants: scripts/mutants has failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--altered", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    counts, differ, wrong = collections.Counter(), 0, 0
    command = ["go", "run", "./scripts/mutants", "-count", str(options.count), "-altered", str(options.altered), "-seed", str(options.seed)]
    for n, (mutant, readable, valid, reason) in enumerate(verdicts(command)):
        if (mutant["Readable"], mutant["Valid"]) != (readable, valid):
            differ += 1
            name = f"{options.seed}-{n}"
            keep(name, mutant)
            print(f"verify-mutants: {name}: {mutant['Name']}: the command says {said(mutant['Readable'], mutant['Valid'], mutant['Reason'])}, "
                  f"verify.py says {said(readable, valid, reason)}", file=sys.stderr)
        if mutant["Built"]:
            counts["built by hand"] += 1
            if mutant["Valid"] != mutant["Want"]:
                wrong += 1
                print(f"verify-mutants: {mutant['Name']}: the command says {said(mutant['Readable'], mutant['Valid'], mutant['Reason'])}, "
                      f"docs/proof-format.md {'VALID' if mutant['Want'] else 'NOT VALID'}", file=sys.stderr)
            continue
        kind = "VALID" if mutant["Valid"] else "NOT VALID with a key" if mutant["Readable"] else "NOT VALID for the key"
        counts[kind + (", proved honestly" if mutant["Honest"] else "")] += 1
    print("verify-mutants: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))
    if differ:
        print(f"verify-mutants: {differ} keys have two verdicts; see {KEPT}", file=sys.stderr)
    if differ or wrong:
        return 1
    if 5 * counts["VALID, proved honestly"] < options.count or 5 * counts["NOT VALID for the key"] > 4 * options.count:
        print("verify-mutants: too few of the keys are valid to say anything", file=sys.stderr)
        return 1
    return 0


def said(readable, valid, reason):
    if valid is None:
        return f"nothing ({reason})"
    return "VALID" if valid else f"NOT VALID ({'proof' if readable else 'key'}: {reason})"


if __name__ == "__main__":
    sys.exit(main())
