"""The messages of key and proof, as in prover/proof/schema/key.proto and
proof.proto, where their fields are explained."""

from dataclasses import dataclass

from . import protobuf as pb

INPUT, FIXED, WITNESS, VIRTUAL, FORMULA, EMPTY = range(6)  # Tensor.kind
FINITE, ALL, MASKING = range(3)  # Tensor.numbers
AT_MOST, AT_LEAST, EQUAL, PROGRESSION = range(4)  # Formula.kind
AFFINE, INDEX, RESHAPE, PUBLIC = range(4)  # Group.map
LOOKUP, EXACT, ZERO, DIVIDE, MAXIMUM = range(5)  # Step.kind
RANGE, PIECEWISE, FUNC = range(3)  # Table.kind
UNIQUE_DECODING, JOHNSON = range(2)  # Security.soundness


@dataclass
class Sum:
    dimension: int = pb.uint64(1)
    stride: int = pb.sint64(2)
    scale: int = pb.uint32(3)


@dataclass
class Group:
    out: list = pb.packed_uint32(1)
    inn: list = pb.packed_uint32(2)
    map: int = pb.enum(3, 4)
    base: int = pb.sint64(4)
    strides: list = pb.packed_sint64(5)
    sums: list = pb.messages(6, Sum)
    index: list = pb.packed_uint64(7)
    base_scale: int = pb.uint32(8)
    ids: int = pb.uint32(9)


@dataclass
class View:
    groups: list = pb.messages(1, Group)
    fill: int = pb.sint64(2)


@dataclass
class Linear:
    coefficient: int = pb.sint64(1)
    source: int = pb.uint32(2)
    view: View = pb.message(3, View)


@dataclass
class Formula:
    kind: int = pb.enum(1, 4)
    offset: int = pb.sint64(2)
    step: int = pb.sint64(3)


@dataclass
class Product:
    coefficient: int = pb.sint64(1)
    a: int = pb.uint32(2)
    b: int = pb.uint32(3)
    labels_a: list = pb.packed_uint32(4)
    labels_b: list = pb.packed_uint32(5)


@dataclass
class Tensor:
    name: str = pb.string(1)
    shape: list = pb.packed_uint64(2)
    kind: int = pb.enum(3, 6)
    frac: int = pb.sint32(4)
    min: int = pb.sint64(5)
    max: int = pb.sint64(6)
    definition: list = pb.messages(7, Linear)
    scales: list = pb.packed_uint32(8)
    fracs: list = pb.packed_sint32(9)
    formula: Formula = pb.message(10, Formula)
    numbers: int = pb.enum(11, 3)
    product: Product = pb.message(12, Product)


@dataclass
class Accumulator:
    constant: int = pb.sint64(1)
    linear: list = pb.messages(2, Linear)
    products: list = pb.messages(3, Product)


@dataclass
class Step:
    kind: int = pb.enum(1, 5)
    name: str = pb.string(2)
    shape: list = pb.packed_uint64(3)
    accumulator: Accumulator = pb.message(4, Accumulator)
    shift: int = pb.uint32(5)
    # Identifiers + 1, 0 for none.
    remainder: int = pb.uint32(6)
    table: int = pb.uint32(7)
    out: int = pb.uint32(8)
    divisor: int = pb.uint32(9)
    scales: list = pb.packed_uint32(10)


@dataclass
class Piece:
    end: int = pb.sint64(1)
    slope: int = pb.sint64(2)
    offset: int = pb.sint64(3)


@dataclass
class Table:
    name: str = pb.string(1)
    kind: int = pb.enum(2, 3)
    bits: int = pb.uint32(3)
    min: int = pb.sint64(4)
    pieces: list = pb.messages(5, Piece)
    values: int = pb.uint32(6)  # identifier + 1, 0 for none
    saturated: list = pb.packed_uint32(7)  # first row and end of each interval
    drop: int = pb.uint32(8)


@dataclass
class Free:
    name: str = pb.string(1)
    bound: int = pb.uint32(2)


@dataclass
class Graph:
    name: str = pb.string(1)
    tensors: list = pb.messages(2, Tensor)
    tables: list = pb.messages(3, Table)
    steps: list = pb.messages(4, Step)
    inputs: list = pb.packed_uint32(5)
    outputs: list = pb.packed_uint32(6)
    free: list = pb.messages(7, Free)
    base: list = pb.packed_uint32(8)

    # Of a proof's circuit: tensors that are inputs of the key's and are not stated, and outputs (module hide).
    hidden = ()
    hidden_outputs = ()
    # Of a segment's: the tensors under each tree of the header, and those of them that no step makes (module segments).
    apart = ()
    imported = ()


@dataclass
class Security:
    target_bits: int = pb.uint32(1)
    grind_bits: int = pb.uint32(2)
    soundness: int = pb.enum(3, 2)
    hash: int = pb.enum(4, 2)


@dataclass
class File:
    sha256: bytes = pb.binary(1)


@dataclass
class Source:
    files: list = pb.messages(1, File)
    quantiser: int = pb.uint32(2)
    mode: int = pb.enum(3, 2)
    weight_bits: int = pb.uint32(4)
    activation_bits: int = pb.uint32(5)
    table_bits: int = pb.uint32(6)
    headroom: int = pb.uint64(7)
    ranges: list = pb.packed_uint32(8)
    formats: list = pb.packed_uint32(9)

    later = {10: "salted"}


@dataclass
class Text:
    tokenizer: bytes = pb.binary(1)
    ends: list = pb.packed_uint32(2)
    writes: int = pb.enum(3, 2)
    template: bytes = pb.binary(4)
    vocabulary: bytes = pb.binary(5)
    starts: list = pb.packed_uint32(9)
    suppressed: list = pb.packed_uint32(10)
    suppressed_first: list = pb.packed_uint32(11)

    later = {6: "input", 7: "positions", 8: "logits"}


@dataclass
class Tree:
    root: bytes = pb.binary(1)
    row_vars: int = pb.uint32(2)
    tail_log: int = pb.uint32(4)

    later = {3: "size", 5: "kind", 6: "subject", 7: "spans"}


@dataclass
class Key:
    graph: Graph = pb.message(1, Graph)
    security: Security = pb.message(3, Security)
    source: Source = pb.message(5, Source)
    texts: list = pb.messages(6, Text)
    trees: list = pb.messages(9, Tree)

    later = {8: "log_blowup", 10: "hiding"}


@dataclass
class Level:
    fold_vars: int = pb.uint32(1)
    row_vars: int = pb.uint32(2)
    log_blowup: int = pb.uint32(3)
    multiplicity: int = pb.uint32(4)
    queries: int = pb.uint32(5)
    out_of_domain: int = pb.uint32(6)
    query_grind: int = pb.uint32(7)
    fold_grind: int = pb.uint32(8)


@dataclass
class Reveal:
    kind: int = pb.enum(1, 2)
    output: int = pb.uint32(2)
    top: int = pb.uint32(3)

    later = {4: "index"}


@dataclass
class FirstTree:
    root: bytes = pb.binary(1)
    row_vars: int = pb.uint32(2)
    log_blowup: int = pb.uint32(3)
    rows: int = pb.uint32(4)
    tokens: int = pb.uint32(5)

    tail_log: int = pb.uint32(6)
    input: int = pb.uint32(7)  # place + 1
    frac: int = pb.sint32(8)


@dataclass
class Segment:
    predecessor: bytes = pb.binary(1)
    first_token: int = pb.enum(2, 2)


@dataclass
class Header:
    version: int = pb.uint32(1)
    key: bytes = pb.binary(2)
    sizes: list = pb.packed_uint64(3)
    chunk_entries: int = pb.uint64(4)
    row_vars: int = pb.uint32(5)
    levels: list = pb.messages(6, Level)
    hash: int = pb.enum(7, 2)
    trees: list = pb.messages(8, FirstTree)
    tail_log: int = pb.uint32(9)
    hidden_inputs: list = pb.packed_uint32(10)
    hidden_outputs: list = pb.packed_uint32(11)
    reveals: list = pb.messages(12, Reveal)
    texts: int = pb.uint32(13)
    segment: Segment = pb.message(14, Segment)


@dataclass
class Values:
    packed: bytes = pb.binary(1)


@dataclass
class Public:
    inputs: list = pb.messages(1, Values)
    outputs: list = pb.messages(2, Values)


@dataclass
class Chunk:
    index: int = pb.uint32(1)
    body: bytes = pb.binary(2)


@dataclass
class Frame:
    header: Header = pb.message(1, Header)
    public: Public = pb.message(2, Public)
    commitments: bytes = pb.binary(3, member=True)
    chunk: Chunk = pb.message(4, Chunk)
    io: bytes = pb.binary(5, member=True)
    opening: bytes = pb.binary(6, member=True)
    end: bytes = pb.binary(7, member=True)


@dataclass
class Link:
    version: int = pb.uint32(1)
    first: bytes = pb.binary(2)
    second: bytes = pb.binary(3)
    levels: list = pb.messages(4, Level)
    body: bytes = pb.binary(5)


@dataclass
class Input:
    version: int = pb.uint32(1)
    root: bytes = pb.binary(2)
    row_vars: int = pb.uint32(3)
    tail_log: int = pb.uint32(4)
    log_blowup: int = pb.uint32(5)
    frac: int = pb.sint32(6)
    hash: int = pb.enum(7, 2)
    shape: list = pb.packed_uint64(8)
