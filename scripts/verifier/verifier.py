"""The verifier: everything in its order (docs/proof-format.md, "The order of messages")."""

from . import layout, lookups, soundness
from .cost import Budget
from .errors import require
from .field import ONE, P, ZERO, add, mul
from .multilinear import evaluate_integers, last, shape_variables, size
from .schema import EXACT
from .schema import ZERO as ZERO_STEP
from .sites import Fork
from .soundness import Rounds
from .transcript import Stream, Transcript
from .whir import Opening

PROTOCOL = b"prove-model protocol 1"


class Verifier:
    """Checks a proof against a key. trace(text), if given, is told every
    challenge in the order in which they are drawn."""

    def __init__(self, vk, proof, trace=None):
        self.vk = vk
        self.graph = vk.graph
        self.proof = proof
        self.trace = trace
        self.rounds = Rounds(vk.security.target_bits)
        self.budget = Budget()
        self.lookups = lookups.trees(self.graph)
        most = max(tree.fractions for tree in self.lookups)
        self.lookup_grind = soundness.lookup_grind(most, vk.security.target_bits) if most else 0
        self.equations = [[] for _ in self.lookups]  # exact and zero steps by chunk
        for step in self.graph.steps:
            if step.kind in (EXACT, ZERO_STEP):
                self.equations[step.chunk].append(step)
        self.inputs = self._public("inputs", self.graph.inputs, proof.public.inputs)
        self.outputs = self._public("outputs", self.graph.outputs, proof.public.outputs)

    def _public(self, what, identifiers, messages):
        require(len(messages) == len(identifiers), f"another number of {what}")
        for identifier, message in zip(identifiers, messages):
            t = self.graph.tensors[identifier]
            require(len(message.values) == size(t.shape), f"{what}: another number of entries")
            require(t.min <= min(message.values) and max(message.values) <= t.max,
                    f"{what}: an entry is out of its tensor's range")
        return [message.values for message in messages]

    def verify(self):
        """Raises Invalid unless the proof holds."""
        main = self._start()
        forks = [self._chunk(main, c) for c in range(self.graph.chunks)]
        forks.append(self._outputs(main))
        for fork in forks:
            main.join(fork.transcript)
        self._opening(main, [claim for fork in forks for claim in fork.claims])

    def _start(self):
        main = Transcript("main", self.trace)
        main.absorb_bytes(PROTOCOL)
        main.absorb_bytes(self.vk.commitment)
        for tensors in (self.inputs, self.outputs):
            main.absorb_integer(len(tensors))
            for entries in tensors:
                main.absorb_integer(len(entries))
                main.absorb_all(v % P for v in entries)
        stream = Stream(self.proof.commitments, main, "commitments")
        for tree in self.vk.trees:
            tree.root = self.vk.root if tree.name == layout.FIXED_TREE else stream.digest()
        stream.end()
        return main

    def _fork(self, main, index, data, name):
        public = dict(zip(self.graph.inputs, self.inputs))
        return Fork(self.graph, public, Stream(data, main.fork(index, name), name), self.rounds, self.budget)

    def _chunk(self, main, chunk):
        fork = self._fork(main, chunk, self.proof.chunks[chunk], f"chunk {chunk}")
        tree = self.lookups[chunk]
        if tree.blocks:
            lookups.check(fork, tree, self.lookup_grind)
        self._equations(fork, self.equations[chunk])
        fork.run_batches()
        fork.stream.end()
        return fork

    def _equations(self, fork, steps):
        if not steps:
            return
        most = max(shape_variables(s.shape) for s in steps)
        self.rounds.error(f"{fork.name}: exact steps", most)
        tau = tuple(fork.transcript.challenge(f"tau {j}") for j in range(most))
        for s in steps:
            point = last(tau, shape_variables(s.shape))
            value = fork.accumulator(s.accumulator, s.shape, point)
            out = fork.evaluate(s.out - 1, point) if s.kind == EXACT else ZERO
            require(value == out, f"{fork.name}: an exact or zero step fails")

    def _outputs(self, main):
        fork = self._fork(main, self.graph.chunks, self.proof.io, "outputs")
        shapes = [self.graph.tensors[t].shape for t in self.graph.outputs]
        most = max(map(shape_variables, shapes))
        self.rounds.error("outputs", most)
        point = tuple(fork.transcript.challenge(f"coordinate {j}") for j in range(most))
        for t, shape, entries in zip(self.graph.outputs, shapes, self.outputs):
            at = last(point, shape_variables(shape))
            require(fork.evaluate(t, at) == evaluate_integers(entries, shape, at), "an output is not the model's")
        fork.run_batches()
        fork.stream.end()
        return fork

    def _opening(self, main, claims):
        stream = Stream(self.proof.opening, main, "opening")
        if self.vk.trees:
            self.rounds.error("join of claims", len(claims))
            zeta = main.challenge("zeta")
            joined, value, power = [], ZERO, ONE
            for claim in claims:
                joined.append((power, claim))
                value = add(value, mul(power, claim.value))
                power = mul(power, zeta)
            weight = layout.Weights(self.graph, self.vk.trees, joined)
            Opening(self.vk.parameters, self.vk.trees, stream, self.rounds).check(value, weight.at, self.vk.security)
        stream.end()
