"""Limbs and public values as they are in a proof file (docs/proof-format.md, "The proof file", "Public values")."""

from .errors import require
from .field import P
from .multilinear import size

LIMB_BITS = 31
GROUP = 8  # limbs, in as many bytes as a limb has bits
BLOCK = 128  # entries
SHIFT_BITS = WIDTH_BITS = 5


def limbs(data, name):
    """The limbs of a stream."""
    found = []
    for at in range(0, len(data), LIMB_BITS):
        group = data[at:at + LIMB_BITS]
        bits, count = int.from_bytes(group, "little"), len(group) * 8 // LIMB_BITS
        require(len(group) == (LIMB_BITS * count + 7) // 8 and bits >> LIMB_BITS * count == 0, f"{name}: not a number of limbs")
        found += [bits >> LIMB_BITS * i & P for i in range(count)]
    require(P not in found, f"{name}: a limb is not below p")
    return found


class Bits:
    """Numbers of some bits, least bit first."""

    def __init__(self, data, name):
        self.data = data
        self.name = name
        self.position = 0

    def read(self, count):
        start, self.position = self.position, self.position + count
        require(self.position <= 8 * len(self.data), f"{self.name}: another number of entries")
        held = int.from_bytes(self.data[start // 8:(self.position + 7) // 8], "little")
        return held >> start % 8 & (1 << count) - 1

    def end(self):
        rest = 8 * len(self.data) - self.position
        require(rest < 8 and self.read(rest) == 0, f"{self.name}: another number of entries")


def entries(data, tensor, name):
    """The entries of a public tensor, row-major."""
    count = size(tensor.shape)
    columns = max(tensor.shape[-1], 1) if tensor.shape else 1
    rows = count // columns
    bits, by_column = Bits(data, name), []
    while len(by_column) < count:
        by_column += _block(bits, min(BLOCK, count - len(by_column)), tensor, name)
    bits.end()
    return [by_column[i % columns * rows + i // columns] for i in range(count)]


def _block(bits, count, tensor, name):
    least = tensor.min + bits.read((tensor.max - tensor.min).bit_length())
    shift, width = bits.read(SHIFT_BITS), bits.read(WIDTH_BITS)
    above = bits.read(count * width)
    above = [above >> width * i & (1 << width) - 1 for i in range(count)]
    require(min(above) == 0 and max(above).bit_length() == width, f"{name}: public values of more bits than they need")
    require(any(n % 2 for n in above) if width else shift == 0, f"{name}: public values of more bits than they need")
    require(least + (max(above) << shift) <= tensor.max, f"{name}: an entry is out of its tensor's range")
    return [least + (n << shift) for n in above]
