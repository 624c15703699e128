"""Inputs and outputs that a proof does not state (docs/proof-format.md, "What is not stated")."""

import copy
import hashlib
from dataclasses import dataclass, replace

from .errors import require
from .protobuf import decode, varint
from .reveal import look_up, range_of
from .schema import EMPTY, FINITE, PUBLIC, WITNESS, ZERO, Accumulator, Input, Linear, Step

MOST_FINER = 20
MOST_INPUT_BYTES = 1 << 10
INPUT_MAGIC = b"PM.inp\r\n"
INPUT_VERSION = 4


def derive(graph, revealed, inputs, outputs, trees):
    """The circuit, sized and with what is revealed, without the inputs and outputs at these places of the key's lists. A hidden
    input is a witness tensor that two look-ups keep in its range. trees are those of inputs that were committed to."""
    if not inputs and not outputs:
        require(not trees, "an input that was committed to is not hidden")
        return graph
    graph = copy.copy(graph)
    graph.tensors, graph.tables, graph.steps = list(graph.tensors), list(graph.tables), list(graph.steps)
    own = len(graph.inputs) - sum(r.count for r in revealed)
    _increasing(inputs, own, "an input")
    _increasing(outputs, len(graph.outputs), "an output")
    require(len(outputs) < len(graph.outputs), "all outputs are hidden")
    require(not any(r.output in outputs for r in revealed), "an output is hidden and revealed")
    graph.hidden = [graph.inputs[i] for i in inputs]
    for identifier in graph.hidden:
        _hide(graph, identifier)
    _commit(graph, inputs, trees)
    graph.inputs = [i for i in graph.inputs if i not in graph.hidden]
    graph.hidden_outputs = [graph.outputs[i] for i in outputs]
    for t in (graph.tensors[i] for i in graph.hidden_outputs):
        require(t.kind != EMPTY and t.numbers == FINITE, "what is hidden: an output without entries, or with codes")
    graph.outputs = [identifier for i, identifier in enumerate(graph.outputs) if i not in outputs]
    for r in revealed:
        r.place -= sum(i < r.output for i in outputs)
    return graph


def _increasing(places, count, what):
    require(all(a < b for a, b in zip(places, places[1:])) and all(i < count for i in places),
            f"what is hidden: {what} that there is not, or not in order")


def _hide(graph, identifier):
    t = graph.tensors[identifier]
    require(t.kind != EMPTY and t.numbers == FINITE, "what is hidden: an input without entries, or with codes")
    accumulators = [s.accumulator for s in graph.steps if s.accumulator]
    terms = [l for u in graph.tensors for l in u.definition] + [l for a in accumulators for l in a.linear]
    groups = [g for term in terms if term.view is not None for g in term.view.groups]
    require(not any(g.map == PUBLIC and g.ids == identifier for g in groups), "what is hidden: an input whose entries are indexes")
    graph.tensors[identifier] = replace(t, kind=WITNESS)
    _keep(graph, identifier)


def _keep(graph, identifier):
    """Looks up that entries are in the range of their tensor."""
    t = graph.tensors[identifier]
    table, shift = range_of(graph, (t.max - t.min).bit_length())
    look_up(graph, t.shape, Accumulator(-t.min, [Linear(1, identifier)]), table, shift)
    look_up(graph, t.shape, Accumulator(t.max, [Linear(-1, identifier)]), table, shift)


def _commit(graph, inputs, trees):
    """Hidden inputs that were committed to, each under a tree that the header names. One that is in coarser units than the model's is a
    further tensor, which the input is a multiple of."""
    places = [tree.input - 1 for tree in trees]
    require(all(a < b for a, b in zip(places, places[1:])) and all(place in inputs for place in places),
            "an input that was committed to is not hidden, or they are out of order")
    graph.apart, graph.imported = [], []
    for place, tree in zip(places, trees):
        read = identifier = graph.hidden[inputs.index(place)]
        t = graph.tensors[read]
        finer = t.frac - tree.frac
        least, most = -(-t.min >> max(finer, 0)), t.max >> max(finer, 0)
        require(not t.fracs and 0 <= finer <= MOST_FINER and least <= most, "an input that was committed to in other units than the model's")
        if finer:
            identifier = len(graph.tensors)
            graph.tensors.append(replace(t, frac=tree.frac, min=least, max=most))
            graph.imported.append(identifier)
            _keep(graph, identifier)
            equation = Accumulator(0, [Linear(1, read), Linear(-1 << finer, identifier)])
            graph.steps.append(Step(kind=ZERO, name="scale", shape=t.shape, accumulator=equation))
        graph.apart.append([identifier])


@dataclass
class Commitment:
    """A commitment to an input, and the place of the input among the key's."""
    place: int
    digest: bytes


def commitments(header, circuit):
    """Those that an accepted proof is of."""
    found = []
    for tree, (identifier, *_) in zip(header.trees if header.segment is None else [], circuit.graph.apart):
        shape = list(circuit.tensors[identifier].shape)
        own = Input(INPUT_VERSION, tree.root, tree.row_vars, tree.tail_log, tree.log_blowup, tree.frac, header.hash, shape)
        found.append(Commitment(tree.input - 1, digest(encoded(own))))
    return found


def encoded(commitment):
    """The file of a commitment."""
    fields = [commitment.version, None, commitment.row_vars, commitment.tail_log, commitment.log_blowup,
              2 * commitment.frac if commitment.frac >= 0 else -2 * commitment.frac - 1, commitment.hash]
    data = INPUT_MAGIC
    for number, value in enumerate(fields, 1):
        if value is None:
            data += varint(number << 3 | 2) + varint(len(commitment.root)) + commitment.root
        elif value:
            data += varint(number << 3) + varint(value)
    shape = b"".join(map(varint, commitment.shape))
    return data + (varint(8 << 3 | 2) + varint(len(shape)) + shape if shape else b"")


def digest(file):
    return hashlib.sha256(b"prove-model input\n" + file).digest()


def read_commitment(data):
    """The digest of the commitment in a file of these bytes. Raises Invalid."""
    require(len(data) <= MOST_INPUT_BYTES and data[:len(INPUT_MAGIC)] == INPUT_MAGIC, "this is not a commitment to an input")
    require(decode(Input, data[len(INPUT_MAGIC):], 1).version == INPUT_VERSION, "the commitment to the input has another version")
    return digest(data)
