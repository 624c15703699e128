"""Small tokenizers of every kind, with what the reference libraries make of mixed lines: for the tests of hf/tokenizer.

  python scripts/hf/tokenizer_cases.py                     the bundled ones, in hf/tokenizer/testdata
  python scripts/hf/tokenizer_cases.py --lines 10000 DIR   more lines, elsewhere; then
  PROVE_MODEL_TOKENIZERS=DIR go test ./hf/tokenizer   holds the package against them
  … --also NAME=PATH                                  and a tokenizer.json of your own

needs tokenizers 0.23.3 and sentencepiece 0.2.3 from PyPI
"""
import argparse
import io
import json
import random
import tempfile
import unicodedata
from pathlib import Path

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

words = {
    "english": "the quick brown fox can't won't they're I'll we've he'd I'm it's model proves every token of language naïve café co-operate O'Neill DON'T "
               "HTMLPage parseJSON XMLHttpRequest iPhone McDonald running tokens unbelievable",
    "german": "Straße größer Übung fährt weiß Äpfel dürfen GRÜSSE Donaudampfschifffahrt",
    "french": "garçon l'été où çà naïveté Noël œuvre déjà-vu aujourd'hui",
    "spanish": "niño ¿cómo? ¡hola! corazón pingüino",
    "turkish": "İstanbul ışık ĞÜŞİÖÇ diyarbakır",
    "vietnamese": "Tiếng Việt đường phố ngữ",
    "russian": "привет мир Ёлка объявление",
    "greek": "Ελλάδα λόγος ΣΊΣΥΦΟΣ ς",
    "chinese": "你好世界 語言模型 𠮷野家 中文，标点。",
    "japanese": "こんにちは カタカナ 日本語テキスト ｶﾀｶﾅ が",
    "korean": "안녕하세요 세계 한국어",
    "arabic": "السلام عليكم مَرْحَبًا",
    "hebrew": "שלום עולם שָׁלוֹם",
    "hindi": "नमस्ते दुनिया क्षत्रिय",
    "thai": "สวัสดีชาวโลก ภาษาไทย",
    "emoji": "😀 👩‍👩‍👧‍👦 🇩🇪 👍🏽 ❤️ 🥺 ✨ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☃",
    "code": "for(i=0;i<n;i++){ x+=a[i]*b[j]; } def f(x): return x**2 #include<stdio.h> !=>=<=&&||::->\\n\\t /* c */ // TODO $x=\"y\"; <div class='a'>",
    "numbers": "3.14159 1234567890 0xDEADBEEF 1e-10 ½ Ⅷ ١٢٣ 1,000,000 2024-01-02 ²³ ①",
    "symbols": "… — – “quoted” ‘single’ «guillemets» € £ ¥ © ® ™ ∑ ∫ √ ≠ → ⇒ ⋮ ° § ¶ • ~ ^ ` | _ __init__ @user #tag 100% a&b 'ſ don’t",
    "marks": "e\u0301 n\u0303 a\u030a\u0301 \u0915\u094d\u0937 Z\u0351\u036b\u0343 \u0301alone",
    "special": "<s> </s> <|endoftext|> <|im_start|>user [CLS] [MASK] [SEP] <unk> <0x41> ▁ ▁▁ Ġ",
}
spaces = [" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n", "\n ", "\u00a0", "\u2003", "\u3000", "\v", "\f", "\u0085", "\u200b", "\u2028", "        "]
controls = ["\x01", "\x07", "\x1b[0m", "\x7f", "\u200d", "\ufeff", "\u200f", "\u00ad", "\ufffd", "\ue000"]


def assigned(r):
    while True:
        c = r.randrange(0x20, 0x30000) if r.random() < 0.3 else r.randrange(0x20, 0x3000)
        if unicodedata.category(chr(c)) not in ("Cn", "Cs"):
            return chr(c)


def lines(n, seed=1):
    r = random.Random(seed)
    out = ["", " ", "a", "\n", "   ", "hello world", " leading", "trailing ", "don't DON'T", "a" * 150, "  two  spaces  "]
    kinds = list(words)
    while len(out) < n:
        main = r.choice(kinds)
        line = []
        for _ in range(r.randrange(1, 14)):
            kind = main if r.random() < 0.7 else r.choice(kinds)
            w = r.choice(words[kind].split(" "))
            x = r.random()
            if x < 0.05:
                w = "".join(assigned(r) for _ in range(r.randrange(1, 6)))
            elif x < 0.1:
                w = w.upper()
            elif x < 0.13:
                w = r.choice(controls) + w
            elif x < 0.2:
                w += r.choice(".,;:!?)]}'\"/-_…。")
            elif x < 0.23:
                w = str(r.randrange(10 ** r.randrange(1, 12)))
            line.append(w)
            line.append(" " if r.random() < 0.75 else r.choice(spaces) if r.random() < 0.8 else "")
        if r.random() < 0.7:
            line.pop()
        out.append("".join(line)[:400])
    return out[:n]


bl = pre_tokenizers.ByteLevel
contraction = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
llama3 = contraction + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
qwen2 = llama3.replace(r"\p{N}{1,3}|", r"\p{N}|")
upper, low = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
rest = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
pre = r"[^\r\n\p{L}\p{N}]?"
o200k = f"{pre}{upper}*{low}+{contraction}?|{pre}{upper}+{low}*{contraction}?|\\p{{N}}{{1,3}}|{rest}"
tekken = f"{pre}{upper}*{low}+|{pre}{upper}+{low}*|\\p{{N}}|{rest}"


def split(rx):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(rx), "isolated", invert=False), bl(add_prefix_space=False, use_regex=False)])


corpus = lines(4000, seed=7)
for k in range(40):
    corpus += [w for v in words.values() for w in v.split(" ")]


def byte_level(pre_tokenizer, normalizer=None, special=("<|endoftext|>",), bos=None, size=560, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer, t.decoder = pre_tokenizer, decoders.ByteLevel()
    if normalizer:
        t.normalizer = normalizer
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), initial_alphabet=bl.alphabet(), show_progress=False))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    if bos:
        t.post_processor = processors.Sequence([t.post_processor, processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, t.token_to_id(bos))])])
    return t


def neox():
    t = byte_level(bl(add_prefix_space=False), normalizers.NFC())
    t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(8, 1, -1)])
    return t


def clip():
    rx = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    t = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer, t.decoder = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(rx), "removed", invert=True), bl(add_prefix_space=False)]), decoders.ByteLevel()
    t.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=900, special_tokens=["<|startoftext|>", "<|endoftext|>"], initial_alphabet=bl.alphabet(), end_of_word_suffix="</w>", show_progress=False))
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    return t


def deberta():
    n = normalizers
    steps = [n.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), n.NFC(), n.Strip(left=False, right=True)]
    return unigram(n.Sequence(steps), pre_tokenizers.Sequence([pre_tokenizers.Metaspace()]))


def strips():
    t = byte_level(bl(add_prefix_space=True))
    t.post_processor = processors.RobertaProcessing(("a", t.token_to_id("a")), ("b", t.token_to_id("b")))
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True), AddedToken("<unk>", rstrip=True, special=True)])
    t.add_tokens([AddedToken("mod", single_word=True, normalized=False), AddedToken("fox", single_word=True)])
    return t


def bert(cased):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=not cased)
    t.pre_tokenizer, t.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(prefix="##", cleanup=True)
    t.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=900, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], limit_alphabet=500, show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
                                                     special_tokens=[(s, t.token_to_id(s)) for s in ("[CLS]", "[SEP]")])
    return t


def fallback(normalizer, pre_tokenizer, decoder, fuse=True):
    """BPE of characters with bytes for the unknown ones, as converted from SentencePiece."""
    special = ["<unk>", "<s>", "</s>"]
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse, byte_fallback=True))
    t.normalizer = normalizers.Sequence(normalizer)
    train = Tokenizer(models.BPE(unk_token="<unk>"))
    train.normalizer, train.pre_tokenizer = t.normalizer, pre_tokenizers.Metaspace(prepend_scheme="never")
    train.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=700, special_tokens=special + [f"<0x{b:02X}>" for b in range(256)], limit_alphabet=200, show_progress=False))
    m = json.loads(train.to_str())["model"]
    full = json.loads(t.to_str())
    full["model"]["vocab"], full["model"]["merges"] = m["vocab"], m["merges"]
    t = Tokenizer.from_str(json.dumps(full))
    if pre_tokenizer:
        t.pre_tokenizer = pre_tokenizer
    t.decoder = decoder
    t.add_special_tokens([AddedToken(s, normalized=False, special=True) for s in special])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t


def charsmap(rule):
    """What SentencePiece compiles a rule of normalisation to: nmt_nfkc, or the part of it that is about the lines, which is small enough to be kept."""
    out, tsv = io.BytesIO(), Path(tempfile.mkdtemp()) / "rules.tsv"
    args = dict(normalization_rule_name=rule)
    if rule == "small":
        singles = {c for w in words.values() for c in w if unicodedata.normalize("NFKC", c) not in (c, " ")}
        pairs = {a + b for a in "aeioucnAEIOU" for b in "\u0300\u0301\u0302\u0303\u0308\u030a\u0327" if len(unicodedata.normalize("NFC", a + b)) == 1} | {"ﾊﾟ", "ｶﾞ"}
        rules = {c: unicodedata.normalize("NFKC", c) for c in singles | pairs} | {c: " " for c in "\t\n\r\u00a0\u2003\u3000\u2028"} | {c: "" for c in "\x01\x07\x7f\u00ad"}
        tsv.write_text("".join(f"{' '.join('%X' % ord(c) for c in k)}\t{' '.join('%X' % ord(c) for c in v)}\n" for k, v in sorted(rules.items())))
        args = dict(normalization_rule_tsv=str(tsv))
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([v for v in words.values()] * 3), model_writer=out, vocab_size=400, model_type="char", minloglevel=2, **args)

    def fields(data):
        at = 0

        def varint():
            nonlocal at
            v = shift = 0
            while True:
                b = data[at]
                at += 1
                v |= (b & 127) << shift
                shift += 7
                if b < 128:
                    return v
        while at < len(data):
            tag = varint()
            n = {0: varint, 1: lambda: 8, 2: varint, 5: lambda: 4}[tag & 7]()
            if tag & 7 == 0:
                continue
            yield tag >> 3, data[at:at + n]
            at += n
    return next(b for k, v in fields(out.getvalue()) if k == 3 for n, b in fields(v) if n == 2)


def unigram(normalizer, pre_tokenizer, fallback=False, size=1200):
    t = Tokenizer(models.Unigram())
    t.normalizer, t.pre_tokenizer, t.decoder = normalizer, pre_tokenizer, decoders.Metaspace()
    special = ["<s>", "<pad>", "</s>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256) if fallback]
    known = [w for v in words.values() for w in v.split(" ")] * 3 + list(words.values())  # without the characters of the lines that are drawn
    t.train_from_iterator(known, trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False))
    full = json.loads(t.to_str())
    full["model"]["byte_fallback"] = fallback
    full["added_tokens"] = full["added_tokens"][:4]
    t = Tokenizer.from_str(json.dumps(full))
    if fallback:
        t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return t


def albert():
    n = normalizers
    steps = [n.Replace("``", '"'), n.Replace("''", '"'), n.NFKD(), n.StripAccents(), n.Lowercase(), n.Precompiled(charsmap(args.charsmap)), n.Replace(Regex(" {2,}"), " ")]
    return unigram(n.Sequence(steps), pre_tokenizers.Metaspace())


def replaced():
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])


args = argparse.Namespace()
kinds = {
    "gpt2": lambda: byte_level(bl(add_prefix_space=False)),
    "llama3": lambda: byte_level(split(llama3), bos="<s>", special=("<|endoftext|>", "<s>"), ignore_merges=True),
    "qwen2": lambda: byte_level(split(qwen2), normalizers.NFC(), special=("<|endoftext|>", "<|im_start|>")),
    "smollm": lambda: byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bl(add_prefix_space=False)])),
    "o200k": lambda: byte_level(split(o200k)),
    "tekken": lambda: byte_level(split(tekken)),
    "neox": neox,
    "strips": strips,
    "clip": clip,
    "deberta": deberta,
    "bert": lambda: bert(False),
    "bert-cased": lambda: bert(True),
    "llama2": lambda: fallback([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")], None, replaced()),
    "gemma": lambda: fallback([normalizers.Replace(" ", "▁")], pre_tokenizers.Split(" ", "merged_with_previous"),
                              decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])),
    "metaspace": lambda: fallback([], pre_tokenizers.Metaspace(prepend_scheme="first", split=False), replaced()),
    "metaspace-split": lambda: fallback([], pre_tokenizers.Metaspace(prepend_scheme="always", split=True), decoders.Metaspace(prepend_scheme="always"), fuse=False),
    "xlm-roberta": lambda: unigram(normalizers.Precompiled(charsmap(args.charsmap)), pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])),
    "albert": albert,
    "unigram-bytes": lambda: unigram(normalizers.NFKC(), pre_tokenizers.Metaspace(prepend_scheme="first", split=False), fallback=True),
}


def sentence_piece(prefix, fallback):
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([v for v in words.values()] * 3), model_writer=out, vocab_size=1200, model_type="bpe", byte_fallback=fallback,
        normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=prefix, character_coverage=0.98,
        user_defined_symbols=["<|im_start|>"], minloglevel=2, num_threads=1)
    return out.getvalue()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("out", nargs="?", default=Path(__file__).resolve().parents[2] / "hf/tokenizer/testdata", type=Path)
    a.add_argument("--lines", type=int, default=160)
    a.add_argument("--also", action="append", default=[])
    a.add_argument("--charsmap", default="small", help="nmt_nfkc: all of it")
    a = a.parse_args()
    args.charsmap = a.charsmap
    a.out.mkdir(parents=True, exist_ok=True)
    text = lines(a.lines)

    def write(name, file, data, ids, decoded):
        d = a.out / name
        d.mkdir(exist_ok=True)
        (d / file).write_bytes(data)
        (d / "cases.json").write_text(json.dumps([{"ids": i, "text": s} for i, s in zip(ids, decoded)], ensure_ascii=True, separators=(",", ":")) + "\n")

    (a.out / "lines.json").write_text(json.dumps(text, indent=0) + "\n")
    made = {name: f() for name, f in kinds.items()}
    for pair in a.also:
        name, path = pair.split("=", 1)
        made[name] = Tokenizer.from_file(path)
        made[name].no_padding()
        made[name].no_truncation()
    for name, t in made.items():
        ids = [t.encode(s).ids for s in text]
        write(name, "tokenizer.json", t.to_str().encode(), ids, [t.decode(i) for i in ids])
    for name, prefix, bytes_ in (("spm", True, True), ("spm-plain", False, False)):
        data = sentence_piece(prefix, bytes_)
        p = sentencepiece.SentencePieceProcessor(model_proto=data)
        ids = [[p.bos_id()] + p.encode(s) for s in text]
        write(name, "tokenizer.model", data, ids, [p.decode(i) for i in ids])


if __name__ == "__main__":
    main()
