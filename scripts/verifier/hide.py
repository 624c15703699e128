"""Inputs and outputs that a proof does not state (docs/proof-format.md, "What is not stated")."""

import copy
from dataclasses import replace

from .errors import require
from .reveal import look_up, range_of
from .schema import EMPTY, FINITE, PUBLIC, WITNESS, Accumulator, Linear


def derive(graph, revealed, inputs, outputs):
    """The circuit, sized and with what is revealed, without the inputs and outputs at these places of the key's lists. A hidden
    input is a witness tensor that two look-ups keep in its range."""
    if not inputs and not outputs:
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
    table, shift = range_of(graph, (t.max - t.min).bit_length())
    graph.tensors[identifier] = replace(t, kind=WITNESS)
    look_up(graph, t.shape, Accumulator(-t.min, [Linear(1, identifier)]), table, shift)
    look_up(graph, t.shape, Accumulator(t.max, [Linear(-1, identifier)]), table, shift)
