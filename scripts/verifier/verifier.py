"""The verifier: everything in its order (docs/proof-format.md, "The order of messages")."""

import sys

from . import lookups, packed, soundness
from .circuit import check_ids, wired
from .cost import Budget
from .errors import require
from .field import P, ZERO, mul, total
from .forms import Tape
from .graph import MOST_NESTED
from .layout import Table, Weights, unused_ends
from .multilinear import evaluate_integers, last, shape_variables
from .pads import Pads, powers_of
from .schema import EMPTY, EXACT
from .schema import ZERO as ZERO_STEP
from .reduce import Fork
from .soundness import Rounds
from .segments import Stated, root_of
from .stream import Stream
from .suites import SUITES
from .texts import part
from .whir import Opening

PROTOCOL = b"prove-model protocol 4"
LONG_TENSOR = 2**11  # entries, beyond which the digests of columns are absorbed
COLUMNS = 128
DEEPEST = 5 * MOST_NESTED + 1000  # calls: five for each virtual tensor that a virtual tensor is made of


def digests(suite, limbs):
    """The digests of the columns of a public tensor."""
    limbs = limbs + [0] * (-len(limbs) % COLUMNS)
    return [suite.hash_public(limbs[c::COLUMNS]) for c in range(COLUMNS)]


class Verifier:
    """Checks a proof against a key. trace(text), if given, is told every
    challenge in the order in which they are drawn."""

    def __init__(self, vk, proof, trace=None):
        self.vk = vk
        self.proof = proof
        self.trace = trace
        self.suite = SUITES[vk.security.hash]
        self.circuit = proof.circuit
        self.rounds = Rounds(vk.security.target_bits)
        self.budget = Budget()
        self.tail_log = proof.header.tail_log  # of a masked proof, else 0
        require(self.tail_log in (0, *soundness.TAIL_LOGS), "the length of the tails of rows")
        require(self.tail_log or vk.tail_log == 0, "a proof that is not masked under a key whose rows have tails")
        self.committed = self.tail_log > 0 or any(self.circuit.witness)
        if not self.tail_log:
            self._lay_out()
        self.lookups = [lookups.Tree(self.circuit, chunk) for chunk in range(len(self.circuit.steps))]
        most = max(tree.fractions for tree in self.lookups)
        self.lookup_grind = soundness.lookup_grind(most, vk.security.target_bits) if most else 0
        self.given = [i for i in vk.graph.inputs if i not in self.circuit.graph.hidden]
        self.inputs = self._public("inputs", self.given, proof.public.inputs)
        self.outputs = self._public("outputs", self.circuit.graph.outputs, proof.public.outputs)
        for revealed in proof.revealed:
            revealed.check(self.outputs[revealed.place])

    def _lay_out(self, pads=None):
        levels = self.proof.header.levels
        self.table = Table(self.circuit, self.suite, self.vk.row_vars, self.proof.header, pads)
        soundness.check_levels(levels, self.vk.security, self.table, self.tail_log)
        if pads is not None:
            self.table.add_tails(levels[0].queries, self.tail_log, self.vk.tail_log, [tree.tail_log for tree in self.proof.header.trees])

    def _public(self, what, identifiers, messages):
        require(len(messages) == len(identifiers), f"another number of {what}")
        return [packed.entries(message.packed, self.circuit.tensors[identifier], what)
                for identifier, message in zip(identifiers, messages)]

    def check_statement(self):
        """Indexes are those of entries that are there; where the second input of a language model is the positions of its
        logits, these are the last; or of a model that writes any number of tokens, the last before the end."""
        graph, text, texts = self.vk.graph, self.vk.text, self.proof.texts
        if texts:
            texts.check(self.given, self.inputs, text is not None and text.writes and not text.starts)
        else:
            check_ids(graph, self.circuit, dict(zip(self.given, self.inputs)))
        if text is None or text.starts or len(graph.inputs) != 2 or graph.inputs[1] not in wired(graph):
            return
        if text.writes and (texts or not graph.tensors[graph.inputs[1]].scales):
            return  # what the model wrote says where
        for (ids, positions), _ in self._texts():
            end = len(ids) - (text.writes and self.proof.header.segment is None)
            require(positions == list(range(end - len(positions), end)), "logits at other positions than the last")

    def _texts(self):
        """Inputs and outputs of each text."""
        count = self.proof.texts.count if self.proof.texts else 1
        return [tuple([part(entries, text, count) for entries in lists] for lists in (self.inputs, self.outputs)) for text in range(count)]

    def written(self):
        """Of each text, which tokens come before and in what the model wrote, and whether it ended; none if the key is not for that.
        Raises Invalid unless every one of the latter has the greatest logit, the first of several."""
        if self.vk.text is None or not self.vk.text.writes:
            return []
        if self.proof.header.segment is not None:
            return [self._written_segment(*self.inputs, self.outputs[0])]
        graph, listens = self.vk.graph, False
        if self.vk.text.starts:  # a decoder that listens has its tokens first
            listens = graph.inputs[1] not in wired(graph)
        return [self._written([], inputs[0], outputs[0]) if listens else self._written(*inputs, outputs[0]) for inputs, outputs in self._texts()]

    def _written_segment(self, ids, positions, logits):
        """written, of a segment: logits are at its last positions, so that every token behind the first of these is the model's, and the
        last logits choose the token behind the segment. The first token is the model's too if the segment follows."""
        header, ends = self.proof.header, self.vk.text.ends
        chosen = self._chosen(positions, logits)
        given = len(ids) - len(positions) + 1
        if header.segment.first_token:
            require(given == 1, "a segment whose first token is the model's and others are not")
            given = 0
        for i in range(max(given, 1), len(ids)):
            require(chosen[i - len(ids) - 1] == ids[i], f"token {i} of the segment is not the model's")
        require(not any(token in ends for token in ids[given:-1]), "the text goes on after its end")
        ended = given < len(ids) and ids[-1] in ends
        self.stated = Stated(header, self.proof.statement, ids[0], ended, chosen[-1])
        return ids[:given], ids[given:], ended

    def _chosen(self, positions, logits):
        """The token that follows from the logits at each position. A proof may state which are the greatest, in place of logits."""
        width, rest = divmod(len(logits), len(positions))
        require(rest == 0 and width > 0, "logits at a part of a position")
        rows = [logits[i * width:(i + 1) * width] for i in range(len(positions))]
        if self.vk.text.suppressed or self.vk.text.suppressed_first:
            return [self._permitted(row, i == len(self.vk.text.starts) - 1) for i, row in enumerate(rows)]
        return [row[0] if self.proof.revealed else row.index(max(row)) for row in rows]

    def _permitted(self, row, first):
        """The likeliest token that may be written, as the first of a text or a later one: by logits, or the first of a list of the
        likeliest; None if there is none."""
        text = self.vk.text
        never = set(text.suppressed + text.suppressed_first if first else text.suppressed)
        if self.proof.revealed:
            return next((token for token in row if token not in never), None)
        return max((token for token in range(len(row)) if token not in never), key=lambda token: (row[token], -token), default=None)

    def _written(self, ids, positions, logits):
        text = self.vk.text
        chosen = self._chosen(positions, logits)
        if text.starts:
            return self._answered(text, ids, positions, chosen)
        first, count = positions[0] + 1, 1
        while count < len(positions) and positions[count] == positions[count - 1] + 1:
            count += 1
        require(all(p == positions[count - 1] for p in positions[count:]), "the positions do not follow each other")
        require(first + count <= len(ids), "a text longer than the tokens")
        tokens = ids[first:first + count]
        for i, token in enumerate(tokens):
            require(chosen[i] == token, f"token {i} of the text is not the model's")
            require(i == count - 1 or token not in text.ends, "the text goes on after its end")
        require(all(token == tokens[-1] for token in ids[first + count:]), "the tokens after the text are not its last")
        return ids[:first], tokens, tokens[-1] in text.ends

    def _answered(self, text, ids, decoder, chosen):
        """written, of an encoder–decoder: the decoder's tokens are what every text begins with, and all that were written but the
        last. chosen are the tokens that follow each of them."""
        starts = len(text.starts)
        require(decoder[:starts] == text.starts, "the decoder's text begins with other tokens than the key's")
        tokens = chosen[starts - 1:]
        require(None not in tokens, "of the likeliest tokens that it states for one of the text the model may write none")
        require(decoder[starts:] == tokens[:-1], "a token of the text is not the model's")
        require(not any(token in text.ends for token in tokens[:-1]), "the text goes on after its end")
        return ids, tokens, tokens[-1] in text.ends

    def verify(self):
        """Raises Invalid unless the proof holds. Then saturated has, by table that has
        saturated rows, how often these are looked up."""
        sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
        self.check_statement()
        self.written_texts = self.written()
        main = self._start()
        forks = [self._chunk(main, chunk) for chunk in range(len(self.circuit.steps))]
        self.saturated = {i: sum(fork.saturated.get(i, 0) for fork in forks)
                          for i, table in enumerate(self.circuit.tables) if table.saturated}
        forks.append(self._outputs(main))
        main.join([fork.transcript for fork in forks])
        self._opening(main, forks)

    def _start(self):
        main = self.suite.transcript("main", self.trace)
        main.absorb_bytes(PROTOCOL)
        main.absorb_bytes(self.proof.head)
        for tensors in (self.inputs, self.outputs):
            main.absorb_integer(len(tensors))
            for entries in tensors:
                main.absorb_integer(len(entries))
                limbs = [v % P for v in entries]
                if len(limbs) > LONG_TENSOR:
                    main.absorb_digests(digests(self.suite, limbs))
                else:
                    main.absorb_all(limbs)
        stream = Stream(self.proof.commitments, self.suite, main, "commitments")
        self.roots = {f"fixed {i}": root for i, root in enumerate(self.vk.roots)}
        self.roots |= {f"apart {i}": root_of(tree, self.suite) for i, tree in enumerate(self.proof.header.trees)}
        if self.committed:
            self.roots["witness"] = stream.digest()
        stream.end()
        return main

    def _fork(self, main, index, data, name):
        public, marks = dict(zip(self.given, self.inputs)), {}
        if self.proof.texts:
            public |= self.proof.texts.entries(public)
        for revealed in self.proof.revealed:
            public |= revealed.entries(self.outputs[revealed.place])
            marks[revealed.marks] = revealed
        stream = Stream(data, self.suite, main.fork(index, name), name)
        stream.tape = Tape() if self.tail_log else None
        return Fork(self.circuit, public, marks, stream, self.rounds, self.budget)

    def _chunk(self, main, chunk):
        fork = self._fork(main, chunk, self.proof.chunks[chunk], f"chunk {chunk}")
        tree = self.lookups[chunk]
        if tree.blocks:
            lookups.check(fork, tree, self.lookup_grind)
        self._equations(fork, [step for step in self.circuit.steps[chunk] if step.kind in (EXACT, ZERO_STEP)])
        fork.run_batches()
        fork.stream.end()
        return fork

    def _equations(self, fork, steps):
        if not steps:
            return
        most = max(shape_variables(s.shape) for s in steps)
        self.rounds.error(f"{fork.name}: exact steps", most)
        tau = tuple(fork.transcript.challenges([f"tau {j}" for j in range(most)]))
        for s in steps:
            point = last(tau, shape_variables(s.shape))
            value = fork.accumulator(s.accumulator, s.shape, point)
            out = fork.evaluate(s.out - 1, point) if s.kind == EXACT else ZERO
            fork.stream.equal(value, out, f"{fork.name}: an exact or zero step fails")

    def _outputs(self, main):
        fork = self._fork(main, len(self.circuit.steps), self.proof.io, "outputs")
        outputs = [(self.circuit.tensors[t], t, entries) for t, entries in zip(self.circuit.graph.outputs, self.outputs)]
        outputs = [(t.shape, i, entries) for t, i, entries in outputs if t.kind != EMPTY]
        most = max((shape_variables(shape) for shape, _, _ in outputs), default=0)
        self.rounds.error("outputs", most)
        point = tuple(fork.transcript.challenges([f"coordinate {j}" for j in range(most)]))
        for shape, t, entries in outputs:
            at = last(point, shape_variables(shape))
            fork.stream.equal(fork.evaluate(t, at), evaluate_integers(entries, shape, at), "an output is not the model's")
        fork.run_batches()
        fork.stream.end()
        return fork

    def _opening(self, main, forks):
        stream = Stream(self.proof.opening, self.suite, main, "opening")
        pads = None
        if self.tail_log:
            pads = Pads([fork.tape for fork in forks])
            self._lay_out(pads)
            pads.read(stream, self.rounds)
        if self.table.trees:
            for tree in self.table.trees:
                tree.root = self.roots[tree.name]
            weights = Weights(self.circuit, self.table)
            value = self._join(main, [fork.claims for fork in forks], pads, weights)
            opening = Opening(self.proof.header.levels, self.table, stream, self.rounds, self.tail_log)
            opening.check(value, weights.at, self.vk.security)
        stream.end()

    def _join(self, main, claims, pads, weights):
        """The value of all claims, of each fork, and unused ends, with their weights; of a masked proof that of its equations
        too."""
        own = ("witness", f"apart {len(self.proof.header.trees) - 1}" if self.proof.header.segment is not None else "")
        ends = [(tree, *end) for tree in self.table.trees if tree.name in own for end in unused_ends(tree)]
        most = max((bits for _, _, bits in ends), default=0)
        if ends:
            self.rounds.error("unused ends", most)
        tau = tuple(main.challenges([f"tau {j} of unused ends" for j in range(most)]))
        joined = sum(map(len, claims)) + len(ends) + (pads.joined() if pads else 0)
        self.rounds.error("join of claims", joined - 1)
        powers = powers_of(main.challenge("zeta"))
        own = [[(claim.value, next(powers)) for claim in of_fork] for of_fork in claims]
        for of_fork, values in zip(claims, own):
            for claim, (_, power) in zip(of_fork, values):
                weights.add_claim(power, claim)
        for tree, start, bits in ends:
            weights.add_end(next(powers), tree, start, last(tau, bits))
        if pads is None:
            return total(mul(power, value) for values in own for value, power in values)
        value, of_pads = pads.join(own, powers)
        weights.add_pads(of_pads)
        return value
