"""Canonical protobuf (docs/proof-format.md, "Canonical protobuf").

A message is a dataclass whose fields come from the functions below, by
increasing number; decode reads it and refuses every encoding but one. "later" of a
class are the numbers and names of fields that a later version may have.
"""

import dataclasses

from .errors import Invalid, require

VARINT, BYTES = 0, 2  # wire types


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a field is written: its wire type, and what reads a value of it."""
    number: int
    wire: int
    read: object  # from the bytes or the varint and the limit on messages
    repeated: bool = False
    keeps_default: bool = False  # written even when empty


def _field(kind, **default):
    return dataclasses.field(metadata={"kind": kind}, **default)


def _unsigned(bits):
    def read(value, _):
        require(value < 1 << bits, f"an integer of more than {bits} bits")
        return value
    return read


def _signed(bits):
    def read(value, _):
        require(value < 1 << bits, f"an integer of more than {bits} bits")
        return (value >> 1) ^ -(value & 1)
    return read


def _enum(values):
    def read(value, _):
        require(value < values, "an enumeration without this value")
        return value
    return read


def _text(value, _):
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid("a string that is not UTF-8") from None


def _packed(scalar):
    def read(data, _):
        values, position = [], 0
        while position < len(data):
            value, position = read_varint(data, position)
            values.append(scalar(value, None))
        return values
    return read


def _message(cls):
    return lambda data, budget: _decode(cls, data, budget)


def uint32(number):
    return _field(Kind(number, VARINT, _unsigned(32)), default=0)


def uint64(number):
    return _field(Kind(number, VARINT, _unsigned(64)), default=0)


def sint32(number):
    return _field(Kind(number, VARINT, _signed(32)), default=0)


def sint64(number):
    return _field(Kind(number, VARINT, _signed(64)), default=0)


def enum(number, values):
    """An enumeration with the values 0 … values − 1."""
    return _field(Kind(number, VARINT, _enum(values)), default=0)


def string(number):
    return _field(Kind(number, BYTES, _text), default="")


def binary(number, member=False):
    """Bytes; member says that the field is one of a oneof, None when absent."""
    read = lambda data, _: bytes(data)
    return _field(Kind(number, BYTES, read, keeps_default=member), default=None if member else b"")


def packed_uint32(number):
    return _field(Kind(number, BYTES, _packed(_unsigned(32))), default_factory=list)


def packed_uint64(number):
    return _field(Kind(number, BYTES, _packed(_unsigned(64))), default_factory=list)


def packed_sint32(number):
    return _field(Kind(number, BYTES, _packed(_signed(32))), default_factory=list)


def packed_sint64(number):
    return _field(Kind(number, BYTES, _packed(_signed(64))), default_factory=list)


def message(number, cls):
    """A message, None when absent."""
    return _field(Kind(number, BYTES, _message(cls), keeps_default=True), default=None)


def messages(number, cls):
    """A repeated message."""
    return _field(Kind(number, BYTES, _message(cls), repeated=True, keeps_default=True), default_factory=list)


def read_varint(data, position):
    """A varint of at most 64 bits without needless bytes, and where it ends."""
    value = 0
    for count in range(10):
        require(position < len(data), "a varint that is cut off")
        byte = data[position]
        position += 1
        value |= (byte & 127) << 7 * count
        if byte < 128:
            require(byte > 0 or count == 0, "a varint with a needless byte")
            require(value < 1 << 64, "a varint of more than 64 bits")
            return value, position
    raise Invalid("a varint of more than 64 bits")


def _kinds(cls):
    """Name and kind of every field of a message, by number."""
    if "kinds" not in cls.__dict__:
        cls.kinds = {f.metadata["kind"].number: (f.name, f.metadata["kind"]) for f in dataclasses.fields(cls)}
    return cls.kinds


def _decode(cls, data, budget):
    """budget is a list of one number: how many more messages there may be."""
    budget[0] -= 1
    require(budget[0] >= 0, "too many messages")
    values, position, last = {}, 0, 0
    while position < len(data):
        tag, position = read_varint(data, position)
        number, wire = tag >> 3, tag & 7
        later = getattr(cls, "later", {})
        require(number not in later, f"{cls.__name__}.{later.get(number)}: a field of a later version")
        require(number in _kinds(cls), f"{cls.__name__}: unknown field {number}")
        name, kind = _kinds(cls)[number]
        require(wire == kind.wire, f"{cls.__name__}.{name}: wire type {wire}")
        require(number > last or number == last and kind.repeated, f"{cls.__name__}.{name}: out of order or twice")
        last = number
        raw, position = read_varint(data, position)
        if wire == BYTES:
            end = position + raw
            require(end <= len(data), f"{cls.__name__}.{name}: cut off")
            raw, position = data[position:end], end
        require(raw or kind.keeps_default, f"{cls.__name__}.{name}: a default value is written")
        value = kind.read(raw, budget)
        if kind.repeated:
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    return cls(**values)


def decode(cls, data, most_messages=1 << 20):
    """The message of the class cls that data encodes. Raises Invalid."""
    return _decode(cls, memoryview(data), [most_messages])


def prefix(data, number):
    """What of a message, one that decode takes, is before its fields of this number and higher ones."""
    position = 0
    while position < len(data):
        tag, value = read_varint(data, position)
        if tag >> 3 >= number:
            break
        length, position = read_varint(data, value)
        position += length if tag & 7 == BYTES else 0
    return data[:position]


def varint(value):
    """The bytes of a number."""
    data = b""
    while value > 127:
        data, value = data + bytes([value & 127 | 128]), value >> 7
    return data + bytes([value])
