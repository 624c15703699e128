#!/usr/bin/env python3
"""Verify a proof of prove-model against a verification key.

A verifier of its own, written from docs/proof-format.md in the standard library
alone: it shares no code with the command, and says with -v every challenge, so
that two implementations can be compared. Slower than the command, which is the
one to use.

  scripts/verify.py --proof x.proof --vk x.vk [--input x.json]

Exit codes: 0 valid; 1 not valid, and why; 2 usage, or a file cannot be read.
"""

import argparse
import json
import math
import sys
import time

from verifier import frames, key, soundness
from verifier.errors import Invalid, require
from verifier.multilinear import size
from verifier.schema import LOOKUP
from verifier.verifier import Verifier

SHOWN = 10  # entries of a tensor
NAMED = 3  # nodes that use a table
DEEPEST = 5000  # calls: five for each virtual tensor that a virtual tensor is made of


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("-v", action="store_true", help="print every challenge")
    parser.add_argument("--proof", required=True, metavar="FILE", help="proof file")
    parser.add_argument("--vk", required=True, metavar="FILE", help="verification key file")
    parser.add_argument("--input", metavar="FILE", help="JSON input that the proof must be about")
    parser.add_argument("--commitment", metavar="HEX", help="model commitment that the key must have")
    parser.add_argument("--min-bits", type=int, default=100, metavar="N",
                        help="least bits of security, work included (default 100)")
    return parser.parse_args()


def main():
    options = arguments()
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.setrecursionlimit(DEEPEST)
    try:
        with open(options.vk, "rb") as file:
            vk_bytes = file.read(key.MOST_BYTES + 1)
        with open(options.proof, "rb") as file:
            proof_bytes = file.read()
        given = read_input(options.input) if options.input else None
    except (OSError, ValueError) as problem:
        print(f"verify.py: {problem}", file=sys.stderr)
        return 2
    try:
        started = time.monotonic()
        verifier = check(vk_bytes, proof_bytes, given, options)
        report(verifier, len(proof_bytes), time.monotonic() - started)
        return 0
    except Invalid as reason:
        print(f"NOT VALID: {reason}", file=sys.stderr)
    except RecursionError:
        print("NOT VALID: virtual tensors are nested too deep", file=sys.stderr)
    return 1


def check(vk_bytes, proof_bytes, given, options):
    vk = key.read(vk_bytes)
    wanted = options.commitment
    require(wanted is None or wanted.lower() == vk.commitment.hex(), "the key has another commitment")
    verifier = Verifier(vk, frames.read(proof_bytes, vk), print if options.v else None)
    if given is not None:
        compare(verifier, given)
    verifier.verify()
    bits = verifier.rounds.least()
    require(bits >= options.min_bits << soundness.UNIT,
            f"{soundness.tenths(bits) / 10} bits of security, less than the {options.min_bits} asked for")
    return verifier


def read_input(path):
    """{"input_data": [[…], …]}: a list, nested as one likes, for each input."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if not isinstance(document, dict) or not isinstance(document.get("input_data"), list):
        raise ValueError(f'{path}: has no "input_data"')
    return [list(numbers(item, path)) for item in document["input_data"]]


def numbers(item, path):
    if isinstance(item, list):
        for inner in item:
            yield from numbers(inner, path)
    elif isinstance(item, (int, float)) and not isinstance(item, bool) and math.isfinite(item):
        yield float(item)
    else:
        raise ValueError(f"{path}: holds {item!r} where numbers are expected")


def compare(verifier, given):
    """The input as the quantiser rounds it must be the proof's."""
    graph, circuit = verifier.vk.graph, verifier.circuit
    require(len(given) == len(graph.inputs), "the input has another number of tensors")
    for values, identifier, entries in zip(given, graph.inputs, verifier.inputs):
        t = circuit.tensors[identifier]
        require([quantise(x, t, i) for i, x in enumerate(values)] == entries, "the proof is about another input")


def unit(tensor, i):
    """What entry i of a tensor counts: 2^−unit."""
    return tensor.fracs[i % len(tensor.fracs)] if tensor.fracs else tensor.frac


def quantise(x, tensor, i):
    """To the nearest integer on the entry's scale, halves away from zero, clamped."""
    size = min(scaled(abs(x), unit(tensor, i)), 2.0**31)
    whole = math.floor(size)
    rounded = whole + (size - whole >= 0.5)
    return min(max(rounded if x >= 0 else -rounded, tensor.min), tensor.max)


def scaled(x, exponent):
    """x·2^exponent, infinite if it is too large."""
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.copysign(math.inf, x)


def report(verifier, length, seconds):
    graph = verifier.vk.graph
    print(f"VALID: the model with commitment {verifier.vk.commitment.hex()}")
    maps, to = ("maps", graph.inputs, verifier.inputs), ("to", graph.outputs, verifier.outputs)
    for word, identifiers, tensors in (maps, to):
        for identifier, entries in zip(identifiers, tensors):
            print(f"{word:11} {describe(verifier.circuit.tensors[identifier], entries)}")
    for line in saturated(verifier):
        print(f"saturated   {line}")
    print(f"security    {security(verifier.rounds)}")
    print(f"verified    {length} bytes in {seconds:.1f} s")


def saturated(verifier):
    """Where values were clamped, or that none was."""
    uses = {}  # by table: look-ups by node
    for step in (step for chunk in verifier.circuit.steps for step in chunk if step.kind == LOOKUP):
        nodes = uses.setdefault(step.table - 1, {})
        nodes[step.name] = nodes.get(step.name, 0) + size(step.shape)
    looked_up = 0
    for table, count in verifier.saturated.items():
        nodes, of = list(uses[table]), sum(uses[table].values())
        looked_up += of
        if count:
            more = f" and {len(nodes) - NAMED} other nodes" if len(nodes) > NAMED else ""
            yield f"at most {count} of {of} values ({100 * count / of:.3g} %) at {', '.join(nodes[:NAMED])}{more}"
    if looked_up and not any(verifier.saturated.values()):
        yield f"none of {looked_up} values inside the model"


def security(rounds):
    """The bits of the weakest round, the least that are proven, and what work adds to these."""
    least, proven = soundness.tenths(rounds.least()), soundness.tenths(rounds.least_proven())
    return f"{least / 10:.1f} bits = {proven / 10:.1f} proven + {(least - proven) / 10:g} of work in the weakest round"


def describe(tensor, entries):
    shown = " ".join(f"{scaled(v, -unit(tensor, i)):.5g}" for i, v in enumerate(entries[:SHOWN]))
    more = f" … ({len(entries)})" if len(entries) > SHOWN else ""
    return f"{tensor.name} [{' '.join(map(str, tensor.shape))}] = {shown}{more}"


if __name__ == "__main__":
    sys.exit(main())
