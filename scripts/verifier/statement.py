"""A proof against what somebody holds beside it: the input, the model's commitment, the security asked for."""

import math

from . import frames, hide, key, soundness
from .circuit import summands
from .errors import require
from .multilinear import size
from .graph import finite
from .schema import ALL, FINITE, LOOKUP, PUBLIC
from .verifier import Verifier


def check(vk_bytes, proof_bytes, given=None, commitment=None, min_bits=100, trace=None):
    """The Verifier that has accepted the proof. given has the shape of each input, None if it is not known, and its
    entries, as a list in the order of the inputs or a dictionary by name; trace is told every challenge. Raises Invalid, also
    for a segment that rests on others (check_chain)."""
    vk = key_of(vk_bytes, commitment)
    verifier = Verifier(vk, frames.read(proof_bytes, vk), trace)
    header = verifier.proof.header
    require(header.segment is None or len(header.trees) <= 1, "the proof is of a part of a text and holds only with the parts before")
    if given is not None:
        compare(verifier, given)
    return accepted(verifier, min_bits)


def check_chain(vk_bytes, proofs, commitment=None, min_bits=100, pinned=None, trace=None):
    """The Verifiers that have accepted the segments of a text, in order, each as the one behind the one before. If pinned is the digest of a
    statement, the first of the proofs is read for that statement alone, which the digest vouches for, and is not verified. Raises Invalid."""
    vk = key_of(vk_bytes, commitment)
    found, before = [], None
    for i, data in enumerate(proofs):
        verifier = Verifier(vk, frames.read(data, vk), trace)
        require(verifier.proof.header.segment is not None, "the proof is of no segment")
        if i == 0 and pinned is not None:
            verifier.check_statement()
            verifier.written()
            require(verifier.stated.digest == pinned, "another statement is pinned than that of the first segment")
        else:
            found.append(accepted(verifier, min_bits))
        if before is None:
            require(pinned is not None or len(verifier.proof.header.trees) == 1, "the first segment rests on others, which are not there")
        else:
            before.check_next(verifier.stated)
        before = verifier.stated
    require(found, "there is no segment")
    return found


def key_of(vk_bytes, commitment):
    vk = key.read(vk_bytes)
    require(commitment is None or commitment.lower() == vk.commitment.hex(), "the key has another commitment")
    return vk


def accepted(verifier, min_bits):
    """The verifier, when it has accepted its proof, and that has the bits asked for."""
    verifier.verify()
    least = verifier.rounds.least()
    require(least >= min_bits << soundness.UNIT,
            f"{soundness.tenths(least) / 10} bits of security, less than the {min_bits} asked for")
    return verifier


def compare(verifier, given):
    """The input as the quantiser rounds it must be the proof's."""
    graph, circuit = verifier.vk.graph, verifier.circuit
    require(verifier.given, "the proof hides its inputs, and does not say whether it is about these")
    require(len(given) == len(verifier.given), "the input has another number of tensors")
    for (shape, values), identifier, entries in zip(in_order(verifier, given), verifier.given, verifier.inputs):
        t, length = circuit.tensors[identifier], indexed(graph, circuit, identifier)
        require(fits(shape, list(t.shape)), f"the array for input {t.name!r} has shape {shape}, and the input has {list(t.shape)}")
        values = [x + length if -length <= x < 0 else x for x in values]
        require([quantise(x, t, i) for i, x in enumerate(values)] == entries, "the proof is about another input")


def indexed(graph, circuit, identifier):
    """The length of the axes that entries of an input are indexes of, which may count from the end: if nothing else reads
    it and they all have one. 0 otherwise."""
    lengths = set()
    for term in summands(graph):
        if term.source == identifier:
            return 0
        for group in term.view.groups if term.view is not None else []:
            if group.map == PUBLIC and group.ids == identifier:
                lengths.add(circuit.tensors[term.source].shape[group.inn[0]])
    products = [p for step in graph.steps if step.accumulator for p in step.accumulator.products]
    read = identifier in graph.outputs or any(identifier in (p.a, p.b) for p in products)
    return lengths.pop() if len(lengths) == 1 and not read else 0


def in_order(verifier, given):
    """Shapes and entries by the names of the inputs, or as they stand in a list."""
    if not isinstance(given, dict):
        return given
    names = [verifier.circuit.tensors[i].name for i in verifier.given]
    for name in given:
        require(name in names, f"{name!r} is given, but the model has no input of that name")
    return [given[name] for name in names]


def fits(array, shape):
    """Whether an array may be for an input of that shape: of which a batch of one may be missing on either side."""
    return array is None or array == shape or array == [1, *shape] or [1, *array] == shape


def unit(tensor, i):
    """What entry i of a tensor counts: 2^−unit."""
    return tensor.fracs[i % len(tensor.fracs)] if tensor.fracs else tensor.frac


def quantise(x, tensor, i):
    """To the nearest integer on the entry's scale, halves away from zero, clamped; to a code if it is not finite and the
    tensor has codes."""
    for code, number in codes(tensor).items():
        if x == number or math.isnan(x) and math.isnan(number):
            return code
    least, most = finite(tensor)
    size = min(scaled(abs(x), unit(tensor, i)), 2.0**31)
    whole = math.floor(size)
    rounded = whole + (size - whole >= 0.5)
    return min(max(rounded if x >= 0 else -rounded, least), most)


def scaled(x, exponent):
    """x·2^exponent, infinite if it is too large."""
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.copysign(math.inf, x)


def inputs(verifier):
    """Name, shape and real values of every input of an accepted proof."""
    return tensors(verifier, verifier.given, verifier.inputs)


def hidden(verifier):
    """Name and shape of the inputs, and of the outputs, that an accepted proof does not state. Entries of the former have the ends of a
    range, None if they are on several scales, and the digits of the commitment to the input, None if it was not committed to."""
    graph, found = verifier.circuit.graph, verifier.circuit.tensors
    ends = [(found[i], [real(v, found[i], 0) for v in (found[i].min, found[i].max)] if not found[i].fracs else None) for i in graph.hidden]
    known = {c.place: c.digest.hex() for c in hide.commitments(verifier.proof.header, verifier.circuit)}
    places = verifier.proof.header.hidden_inputs
    return [(t.name, list(t.shape), own, known.get(place)) for (t, own), place in zip(ends, places)], [(found[i].name, list(found[i].shape)) for i in graph.hidden_outputs]


def check_input(verifier, digest):
    """An accepted proof must be of what this commitment is to. Raises Invalid."""
    found = hide.commitments(verifier.proof.header, verifier.circuit)
    require(any(c.digest == digest for c in found), f"it is of no input that is committed to as {digest.hex()}")


def outputs(verifier):
    """The same of every output."""
    return tensors(verifier, verifier.circuit.graph.outputs, verifier.outputs)


def unproved(verifier):
    """Name and ends of each output whose greatest entries are those in a range that no look-up keeps it to."""
    return [(r.of.name, *(real(v, r.of, 0) for v in r.range)) for r in verifier.proof.revealed if not r.proved]


def tensors(verifier, identifiers, values):
    found = [verifier.circuit.tensors[i] for i in identifiers]
    return [(t.name, list(t.shape), [real(v, t, i) for i, v in enumerate(entries)]) for t, entries in zip(found, values)]


def real(v, tensor, i):
    """What the integer v stands for as entry i of a tensor."""
    return codes(tensor).get(v, scaled(v, -unit(tensor, i)))


def codes(tensor):
    """The integers of a tensor that stand for numbers which are not finite, and these."""
    found = {tensor.min: -math.inf} if tensor.numbers != FINITE else {}
    if tensor.numbers == ALL:
        found |= {tensor.max: math.nan, tensor.max - 1: math.inf}
    return found


def saturated(verifier):
    """For every table whose saturation an accepted proof, which is not masked, states: the nodes that look up in it, how many look-ups hit
    rows where values are clamped at most, and of how many."""
    uses = {}  # by table: look-ups by node
    for step in (step for chunk in verifier.circuit.steps for step in chunk if step.kind == LOOKUP):
        nodes = uses.setdefault(step.table - 1, {})
        nodes[step.name] = nodes.get(step.name, 0) + size(step.shape)
    return [(list(uses[table]), count, sum(uses[table].values())) for table, count in verifier.saturated.items()]


def bits(verifier):
    """The bits of the weakest round."""
    return soundness.tenths(verifier.rounds.least()) / 10


def proven_bits(verifier):
    """Of these, what holds against any prover; work adds the rest."""
    return soundness.tenths(verifier.rounds.least_proven()) / 10
