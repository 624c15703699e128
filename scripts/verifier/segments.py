"""Segments of a text (docs/proof-format.md, "Segments of a text")."""

import copy
import struct
from dataclasses import replace

from .circuit import factor, with_sizes
from .errors import require
from .soundness import TAIL_LOGS
from .schema import AFFINE, FORMULA, INPUT, PROGRESSION, PUBLIC, RESHAPE, VIRTUAL, WITNESS, Group, Linear, Sum, View

MOST_PAST = 255
MOST_IMPORTS = 1 << 16
MOST_BOUND = 1 << 24
LENGTH = 1  # the scale of an axis of tokens
PLAIN, ROWS, ALL = range(3)  # what the indexes of an axis are


def check_header(header, vk):
    """What a header says of trees and of a segment goes together, and the key is one for segments."""
    if header.segment is None:
        require(len(header.trees) <= MOST_PAST + 1, "the header names too many trees")
        for tree in header.trees:
            require(tree.input > 0 and tree.tokens == 0 and tree.tail_log in TAIL_LOGS, "the header names a tree, and not what it is for")
        return
    require(not any(tree.input or tree.tail_log or tree.frac for tree in header.trees), "a segment with a tree of an input")
    require(0 < len(header.trees) <= MOST_PAST + 1, "a segment without a tree of its own, or with too many")
    require(header.tail_log == 0 and vk.tail_log == 0, "a segment of a masked proof, or of a key that hides weights")
    require(not header.texts and not header.hidden_inputs and not header.hidden_outputs, "a segment of several texts, or that hides something")
    require(header.sizes[:1] == [header.trees[-1].tokens], "the segment's own tree is of another number of tokens")
    first = not header.segment.predecessor
    require(first or len(header.segment.predecessor) == 32 and any(header.segment.predecessor), "the predecessor's digest")
    require(first == (len(header.trees) == 1), "the header names a predecessor without its trees, or trees without it")
    require(not first or not header.segment.first_token, "the first segment follows none")
    graph, text = vk.graph, vk.text
    require(text is not None and text.writes and not text.starts and len(graph.free) == 2 and len(graph.inputs) == 2
            and graph.tensors[graph.inputs[1]].scales == [2], "the key is not for texts of any length that a model goes on with")
    for tree in header.trees:
        require(0 < tree.tokens <= MOST_BOUND, "a segment's length")


class Segment:
    """The circuit of a segment, from the key's: the rows of its own tokens of the circuit of the whole text."""

    def __init__(self, template, sizes, past):
        self.template, self.sizes, self.past = template, sizes, past
        self.graph = with_sizes(template, sizes)
        self.rows, self.all = sizes[0], sizes[0] + sum(past)
        require(LENGTH in template.tensors[template.inputs[0]].scales, "segments: the length is not the first free dimension")
        require(self.all <= template.free[0].bound, "a text longer than its key is for")
        self.axes = [roles(t) for t in template.tensors]
        self.lists = {i for i in range(len(template.tensors)) if self._is_list(i)}
        self.wholes, self.steps_begun = {}, False
        self.imports = [[] for _ in range(len(past) + 1)]
        for i, t in enumerate(template.tensors):
            require(t.kind != INPUT or ALL not in self.axes[i], "segments: an input with two axes of tokens")
            if i not in self.lists:
                self.graph.tensors[i] = self._filled(i, self.axes[i])
        self.steps_begun = True
        self.graph.steps = [self._step(made, step) for made, step in zip(self.graph.steps, template.steps)]
        require(not self.lists & set(template.outputs), "segments: what indexes read the rows of is an output")
        require(self.imports[-1], "segments: no tensor of one token is read by others")
        self.graph.apart = self.imports
        self.graph.imported = [i for ids in self.imports[:-1] for i in ids]

    def _before(self, role):
        """The number of tokens before those of an axis."""
        return self.all - self.rows if role == ROWS else 0

    def _shape(self, shaped, axes):
        made = [d * factor(s, self.sizes) for d, s in zip(shaped.shape, shaped.scales)] if shaped.scales else list(shaped.shape)
        return [self.all if role == ALL else d for d, role in zip(made, axes)]

    def _filled(self, i, axes):
        """A tensor of the template with these axes."""
        t = replace(self.template.tensors[i], shape=self._shape(self.template.tensors[i], axes), scales=[])
        if t.kind == FORMULA:
            f = t.formula
            by = f.step * self._before(axes[0]) if f.kind == PROGRESSION else self._before(axes[1]) - self._before(axes[0])
            t.formula = replace(f, offset=f.offset + by)
        elif t.product:
            t.product = self._factors(t.product, axes)
        elif t.kind == VIRTUAL:
            t.definition = self._terms(t.definition, self.template.tensors[i], axes)
        return t

    def _is_list(self, i):
        """Whether a tensor is the rows of another one along its first axis, with zeros behind, for indexes of the statement."""
        t = self.template.tensors[i]
        if len(t.definition) != 1 or not t.shape or t.definition[0].coefficient != 1 or t.definition[0].view is None or t.definition[0].view.fill:
            return False
        view, source = t.definition[0].view, self.template.tensors[t.definition[0].source]
        if len(source.scales) != len(t.shape) or len(view.groups) != len(t.shape) or source.scales[0] != LENGTH or source.shape[0] != 1:
            return False
        if any(source.scales[1:]) or any(t.scales) or source.shape[1:] != t.shape[1:]:
            return False
        return all(g.map == AFFINE and len(g.out) == 1 and g.out == g.inn and not g.base and g.strides == [1] and not g.sums
                   for g in view.groups)

    def _terms(self, terms, shaped, axes):
        return [self._term(copy.deepcopy(term), shaped, axes) for term in terms]

    def _term(self, term, shaped, axes):
        have = self.axes[term.source]
        public = term.view is not None and any(g.map == PUBLIC for g in term.view.groups)
        require(public or term.source not in self.lists, "segments: what indexes read the rows of is read in another way too")
        want = [PLAIN] * len(have)
        if term.view is None:
            require(len(axes) == len(have), "segments: axes")
            want = list(axes)
        else:
            for group in term.view.groups:
                self._group(group, shaped, axes, self.template.tensors[term.source], have, want)
        term.source = self._source(term.source, have, want)
        return term

    def _group(self, g, shaped, axes, source, have, want):
        to, start = only(g.out, axes), only(g.inn, have)
        sums = any(s.scale & LENGTH for s in g.sums)
        moved = "segments: what a token reads of others is not found by their positions alone"
        require(not g.base_scale & LENGTH and not (sums and start is None), moved)
        if g.map == PUBLIC:
            ids = self.template.tensors[g.ids]
            at = only(range(len(ids.shape)), self.axes[g.ids])
            require(start is None and (to is None) == (at is None), moved)
            if to is not None:
                ahead = ahead_of(shaped, g.out, to)
                require(axes[to] == ROWS and ahead is not None and ahead == ahead_of(ids, range(len(ids.shape)), at), moved)
        elif to is None and start is None:
            pass
        elif g.map == RESHAPE and to is not None and start is not None:
            ahead = ahead_of(shaped, g.out, to)
            require(ahead is not None and ahead == ahead_of(source, g.inn, start), moved)
            want[start] = axes[to]
        else:
            require(g.map == AFFINE, moved)
            if start is None:
                g.base += g.strides[g.out.index(to)] * self._before(axes[to])
            elif to is not None:
                require(len(g.out) == 1 and not g.base and g.strides == [1] and not g.sums, moved)
                want[start] = axes[to]
            else:
                require(not g.base and not any(g.strides) and g.sums == [Sum(1, 1, LENGTH)], moved)
                g.sums = [Sum(self.all, 1, 0)]
                want[start] = ALL
        g.base, g.base_scale = g.base * factor(g.base_scale, self.sizes), 0
        g.sums = [Sum(s.dimension * factor(s.scale, self.sizes), s.stride, 0) for s in g.sums]

    def _source(self, i, have, want):
        """The tensor that has the axes that are wanted of one."""
        if have == want:
            return i
        require(ALL not in have and whole(have) == want, "segments: a token reads others in another way")
        require(self.steps_begun, "segments: a tensor that is no step's result reads all tokens")
        return self._whole(i)

    def _whole(self, i):
        """The tensor that has all rows of one that has rows."""
        if i not in self.wholes:
            t = self.template.tensors[i]
            require(t.kind in (VIRTUAL, FORMULA, WITNESS), "segments: a step reads all of an input")
            made = self._joined(i) if t.kind == WITNESS else self._filled(i, whole(self.axes[i]))
            self.graph.tensors.append(made)
            self.wholes[i] = len(self.graph.tensors) - 1
        return self.wholes[i]

    def _joined(self, i):
        """Rows that are imported, and behind them the segment's own."""
        require((len(self.imports[0]) + 1) * len(self.imports) <= MOST_IMPORTS, "segments: too many tensors of others")
        t, axes = self.template.tensors[i], self.axes[i]
        axis = axes.index(ROWS)
        definition, at = [], 0
        for k, ids in enumerate(self.imports):
            own = i
            if k < len(self.past):
                shape = self._shape(t, axes)
                shape[axis] = self.past[k]
                self.graph.tensors.append(replace(t, shape=shape, scales=[]))
                own = len(self.graph.tensors) - 1
            ids.append(own)
            groups = [Group([a], [a], AFFINE, -at if a == axis else 0, [1]) for a in range(len(axes))]
            definition.append(Linear(1, own, View(groups)))
            at += self.past[k] if k < len(self.past) else 0
        return replace(t, kind=VIRTUAL, shape=self._shape(t, whole(axes)), scales=[], definition=definition)

    def _step(self, made, step):
        axes = roles(step)
        made.shape, made.scales = self._shape(step, axes), []
        if step.accumulator is not None:
            linear = self._terms(step.accumulator.linear, step, axes)
            products = [self._factors(p, axes) for p in step.accumulator.products]
            made.accumulator = replace(step.accumulator, linear=linear, products=products)
        if step.divisor:
            have = self.axes[step.divisor - 1]
            require(step.divisor - 1 not in self.lists and have[:len(axes)] == axes and ROWS not in have[len(axes):],
                    "segments: a divisor of other tokens")
        return made

    def _factors(self, p, axes):
        return replace(p, a=self._factor(p.a, p.labels_a, axes), b=self._factor(p.b, p.labels_b, axes))

    def _factor(self, i, labels, axes):
        require(i not in self.lists, "segments: what indexes read the rows of is read in another way too")
        have = self.axes[i]
        want = [PLAIN if role == PLAIN else axes[label] if label < len(axes) else ALL for role, label in zip(have, labels)]
        return self._source(i, have, want)


def roles(shaped):
    """What the indexes of axes are: the first of tokens is of the segment's, a second one of all."""
    found, following = [PLAIN] * len(shaped.shape), ROWS
    for a, scale in enumerate(shaped.scales):
        if scale & LENGTH:
            require(scale == LENGTH and shaped.shape[a] == 1, "segments: positions and other indexes share an axis")
            require(following <= ALL, "segments: more than two axes of tokens")
            found[a] = following
            following += 1
    return found


def whole(axes):
    return [ALL if role == ROWS else role for role in axes]


def only(axes, of):
    """The one axis of tokens among some, None if there is none."""
    found = [a for a in axes if of[a] != PLAIN]
    require(len(found) <= 1, "segments: two axes of tokens in one group")
    return found[0] if found else None


def ahead_of(shaped, axes, at):
    """The number of indexes of axes before that of tokens; None if an axis beside it scales."""
    axes = list(axes)
    if any(shaped.scales[a] for a in axes if a != at and shaped.scales):
        return None
    number = 1
    for a in axes[:axes.index(at)]:
        number *= shaped.shape[a]
    return number


# Chains

class Stated:
    """What the next segment must go on from, of a segment's statement."""

    def __init__(self, header, digest, first, ended, chosen):
        self.header, self.digest = header, digest
        self.follows = bool(header.segment.first_token)
        self.first, self.ended, self.chosen = first, ended, chosen  # first token; whether the model ended its text; the token behind it

    def check_next(self, following):
        """following must be the segment behind this one."""
        require(following.header.segment.predecessor == self.digest, "a segment follows on another statement than that before it")
        require(following.header.trees[:-1] == self.header.trees, "a segment names other keys and values than those before it")
        if following.follows:
            require(following.first == self.chosen, "the first token of a segment is not the one that the segment before leaves to be chosen")
            require(not self.ended, "a segment goes on after a text that has ended")


def root_of(tree, suite):
    require(len(tree.root) == 32, "a root of the header is not a digest")
    words = struct.unpack("<8I", tree.root)
    suite.check_digest(words, "a root of the header")
    return words
