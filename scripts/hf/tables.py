"""Writes hf/tokenizer/tables.go: which characters normalisers and BERT's splitter take for what, as the reference library has it.

  python scripts/hf/tables.py        needs tokenizers 0.23.3 from PyPI
"""
import textwrap
from pathlib import Path

from tokenizers import normalizers, pre_tokenizers

code_points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(holds):
    out = []
    for c in code_points:
        if holds(chr(c)):
            if out and out[-1][1] == c - 1:
                out[-1][1] = c
            else:
                out.append([c, c])
    return " ".join(f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in out)


def const(name, holds):
    return f"const {name} = `\n" + "\n".join(textwrap.wrap(ranges(holds), 120)) + "`\n"


options = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
clean = normalizers.BertNormalizer(**{**options, "clean_text": True})
strip = normalizers.BertNormalizer(**{**options, "strip_accents": True})
accents = normalizers.StripAccents()
split = pre_tokenizers.BertPreTokenizer()
tables = [
    const("controlRanges", lambda c: clean.normalize_str(c) == ""),
    const("markRanges", lambda c: strip.normalize_str("a" + c) == "a"),
    const("accentRanges", lambda c: accents.normalize_str("a" + c) == "a"),
    const("punctuationRanges", lambda c: len(split.pre_tokenize_str("a" + c + "a")) == 3),
]
Path(__file__).resolve().parents[2].joinpath("hf/tokenizer/tables.go").write_text(
    """package tokenizer

// The characters that BERT's normaliser and splitter take for control characters,
// accents and punctuation, and those that another normaliser takes for accents: ranges
// of code points. The tables of the reference library are of an old version of Unicode; scripts/hf/tables.py reads these off.

""" + "\n".join(tables))
