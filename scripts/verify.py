#!/usr/bin/env python3
"""Verify a proof of prove-model against a verification key.

A verifier of its own, written from docs/proof-format.md in the standard library
alone: it shares no code with the command, and says with -v every challenge, so
that two implementations can be compared. Slower than the command, which is the
one to use.

  scripts/verify.py --proof x.proof --vk x.vk [--input x.json]
  scripts/verify.py --renew old.vk --vk new.vk [--link new.vk.link]
  scripts/verify.py --chain 1.proof 2.proof … --vk x.vk [--from DIGEST]

The second checks a link: that a key hides the same weights as a former one. The
third verifies the segments of a text. With --from the first of them is the one
whose statement has that digest, and is not verified itself.

Exit codes: 0 valid; 1 not valid, and why; 2 usage, or a file cannot be read.
"""

import argparse
import json
import math
import struct
import sys
import time

from verifier import hide, key, link, soundness, statement
from verifier.errors import Invalid

TOKENS = 64  # of a text
SHOWN = 10  # entries of a tensor
NAMED = 3  # nodes that use a table


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("-v", action="store_true", help="print every challenge")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--proof", metavar="FILE", help="proof file")
    what.add_argument("--renew", metavar="FILE", help="former key, of the same hidden weights: checks a link")
    what.add_argument("--chain", nargs="+", metavar="FILE", help="the proofs of a text's segments, in order")
    parser.add_argument("--from", dest="pinned", type=bytes.fromhex, metavar="HEX", help="with --chain: digest of the first one's statement")
    parser.add_argument("--vk", required=True, metavar="FILE", help="verification key file")
    parser.add_argument("--link", metavar="FILE", help="link of both keys (default: the --vk file with .link)")
    parser.add_argument("--input", metavar="FILE", help="JSON input that the proof must be about")
    parser.add_argument("--input-commitment", metavar="FILE", help="commitment to a hidden input that the proof must be of")
    parser.add_argument("--commitment", metavar="HEX", help="model commitment that the key must have")
    parser.add_argument("--min-bits", type=int, default=100, metavar="N",
                        help="least bits of security, work included (default 100)")
    options = parser.parse_args()
    if options.renew and (options.input or options.input_commitment or options.commitment):
        parser.error("--input, --input-commitment and --commitment are of a proof")
    if options.chain and (options.input or options.input_commitment):
        parser.error("--input and --input-commitment are of one proof, and --chain has several")
    if options.pinned is not None and not options.chain:
        parser.error("--from is of the segments of a text: --chain")
    if options.link and not options.renew:
        parser.error("--link is of a key that renews another: --renew")
    return options


def main():
    options = arguments()
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        vk_bytes = contents(options.vk, key.MOST_BYTES)
        if options.renew:
            former = contents(options.renew, key.MOST_BYTES)
            linked = contents(options.link or options.vk + ".link", link.MOST_BYTES)
        proofs = []
        for path in options.chain or [options.proof] * (options.proof is not None):
            with open(path, "rb") as file:
                proofs.append(file.read())
        given = read_input(options.input) if options.input else None
        of_input = contents(options.input_commitment, hide.MOST_INPUT_BYTES) if options.input_commitment else None
    except (OSError, ValueError) as problem:
        print(f"verify.py: {problem}", file=sys.stderr)
        return 2
    if options.renew:
        return check_link(options, former, vk_bytes, linked)
    try:
        started = time.monotonic()
        trace = print if options.v else None
        if options.chain:
            found = statement.check_chain(vk_bytes, proofs, options.commitment, options.min_bits, options.pinned, trace)
            report_chain(found, options.pinned, sum(map(len, proofs)), time.monotonic() - started)
        else:
            verifier = statement.check(vk_bytes, proofs[0], given, options.commitment, options.min_bits, trace)
            if of_input is not None:
                statement.check_input(verifier, hide.read_commitment(of_input))
            report(verifier, len(proofs[0]), time.monotonic() - started)
        return 0
    except Invalid as reason:
        print(f"NOT VALID: {reason}", file=sys.stderr)
    return 1


def contents(path, most):
    """The bytes of a file, and one more than the most if there are more."""
    with open(path, "rb") as file:
        return file.read(most + 1)


def check_link(options, former, vk_bytes, linked):
    """What the command says of a link (check-key --renew)."""
    try:
        found = link.check(former, vk_bytes, linked, options.min_bits, print if options.v else None)
    except Invalid as reason:
        print(f"NOT LINKED: {reason}")
        return 1
    print("THE SAME WEIGHTS")
    print(f"commitment  {found.second.commitment.hex()}")
    print(f"renews      {found.first.commitment.hex()}")
    bits = soundness.tenths(found.rounds.least()) / 10
    print(f"security    {bits:.1f} bits; which model it is rests on what is known of the former key")
    return 0


def read_input(path):
    """{"input_data": [[…], …]}: for each input a list, flat or nested as its axes are."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if not isinstance(document, dict) or not isinstance(document.get("input_data"), list):
        raise ValueError(f'{path}: has no "input_data"')
    return [(shape_of(item), list(numbers(item, path))) for item in document["input_data"]]


def shape_of(item):
    """The shape of nested lists; None of a flat one, which says nothing of axes."""
    shape = []
    while isinstance(item, list):
        shape.append(len(item))
        item = item[0] if item else None
    return shape if len(shape) > 1 else None


def numbers(item, path):
    if isinstance(item, list):
        for inner in item:
            yield from numbers(inner, path)
    elif isinstance(item, (int, float)) and not isinstance(item, bool) and math.isfinite(item):
        yield float(item)
    else:
        raise ValueError(f"{path}: holds {item!r} where numbers are expected; strings are compared by prove-model verify --vocabulary")


def report(verifier, size, seconds):
    print(f"VALID: the model with commitment {verifier.vk.commitment.hex()}")
    if len(verifier.vk.roots) == 2:
        base, adapter = (struct.pack(f"<{len(root)}I", *root).hex() for root in verifier.vk.roots)
        print(f"base        weights under the root {base}, the same for every adapter")
        print(f"adapter     weights under the root {adapter}")
    for word, tensors in (("maps", statement.inputs(verifier)), ("to", statement.outputs(verifier))):
        for name, shape, values in tensors:
            print(f"{word:11} {describe(name, shape, values)}")
    if verifier.vk.vocabulary:
        print(f"strings     not checked: numbers stand for strings by the vocabulary with digest {verifier.vk.vocabulary.hex()}")
    for name, least, most in statement.unproved(verifier):
        print(f"greatest    of entries of {name} in [{least:.5g}, {most:.5g}]: that there are no others rests on who issued the key")
    for i, (prompt, tokens, ended) in enumerate(verifier.written_texts):
        if len(verifier.written_texts) > 1:
            print(f"text        {i + 1} of {len(verifier.written_texts)}")
        print(f"prompt      {len(prompt)} tokens: {ids(prompt)}")
        print(f"tokens      {ids(tokens)}")
        how = f"{len(tokens)} tokens, ended by the model" if ended else f"cut at {len(tokens)} tokens"
        others = " of those that it may write" if verifier.vk.text.suppressed or verifier.vk.text.suppressed_first else ""
        print(f"written     {how}: each token has the greatest logit{others}")
    for line in [] if verifier.tail_log else saturated(verifier):
        print(f"saturated   {line}")
    inputs, outputs = statement.hidden(verifier)
    for name, shape, ends, commitment in inputs:
        own = f", its entries in [{ends[0]:.5g}, {ends[1]:.5g}]" if ends else ""
        own += f", committed to as {commitment}" if commitment else ""
        print(f"hidden      input {name} [{' '.join(map(str, shape))}]{own}")
    for name, shape in outputs:
        print(f"hidden      output {name} [{' '.join(map(str, shape))}]")
    if (inputs or outputs) and not verifier.vk.tail_log:
        print("public      inputs and outputs above, which model it is, its weights, sizes, and ranges as the key has them")
    if verifier.vk.tail_log:
        print("hidden      weights, values inside of the model and how many were saturated: computationally, if the prover is this program")
        print("public      inputs and outputs above, sizes, and what `inspect --vk` says of the key: architecture, names, scales, ranges")
    elif verifier.tail_log:
        print("hidden      values inside of the model, and how many were saturated, but not the weights: the key does not hide them")
    if inputs or outputs:
        print("told        what the public part says of the hidden one; that nothing else does is the word of the program that proved")
    print("bounds      not certified: that the integers of the model never wrap rests on who issued the key")
    print(f"security    {security(verifier)}")
    print(f"verified    {size} bytes in {seconds:.1f} s")


def report_chain(verifiers, pinned, size, seconds):
    print(f"VALID: a text in {len(verifiers)} segments, by the model with commitment {verifiers[0].vk.commitment.hex()}")
    if pinned is not None:
        print(f"from        the statement {pinned.hex()}: what comes before is the word of whoever gave it")
    for verifier in verifiers:
        given, tokens, _ = verifier.written_texts[0]
        print(f"segment     {len(given)} tokens given: {ids(given)}; {len(tokens)} written: {ids(tokens)}")
    print(f"ended       {'by the model' if verifiers[-1].written_texts[0][2] else 'no: the text may go on'}")
    print(f"statement   {verifiers[-1].stated.digest.hex()}")
    print("bounds      not certified: that the integers of the model never wrap rests on who issued the key")
    print(f"security    {min((security(v) for v in verifiers), key=lambda s: float(s.split()[0]))}")
    print(f"verified    {size} bytes in {seconds:.1f} s")


def ids(tokens):
    return " ".join(map(str, tokens[:TOKENS])) + (f" … ({len(tokens)})" if len(tokens) > TOKENS else "")


def saturated(verifier):
    """Where values were clamped, or that none was."""
    tables = statement.saturated(verifier)
    for nodes, count, of in tables:
        if count:
            more = f" and {len(nodes) - NAMED} other nodes" if len(nodes) > NAMED else ""
            yield f"at most {count} of {of} values ({100 * count / of:.3g} %) at {', '.join(nodes[:NAMED])}{more}"
    if tables and not any(count for _, count, _ in tables):
        yield f"none of {sum(of for _, _, of in tables)} values inside the model"


def security(verifier):
    """The bits of the weakest round, the least that are proven, and what work adds to these."""
    least, proven = statement.bits(verifier), statement.proven_bits(verifier)
    return f"{least:.1f} bits = {proven:.1f} proven + {least - proven:g} of work in the weakest round"


def describe(name, shape, values):
    if 0 in shape:
        return f"{name} [{' '.join(map(str, shape))}], without elements"
    shown = " ".join(f"{v:.5g}" for v in values[:SHOWN])
    more = f" … ({len(values)})" if len(values) > SHOWN else ""
    return f"{name} [{' '.join(map(str, shape))}] = {shown}{more}"


if __name__ == "__main__":
    sys.exit(main())
