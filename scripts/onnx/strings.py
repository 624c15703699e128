"""Writes models that take strings or name classes, with inputs and what ONNX Runtime makes of them: FOLDER/NAME.onnx,
NAME.json ({input: nested lists}) and NAME.want.json ({output: {shape, values}}, values being numbers or strings).

    pip install onnx==1.23.2 onnxruntime==1.31.1 scikit-learn==1.9.1 skl2onnx==1.20.0 pandas
    python scripts/onnx/strings.py onnx/testdata/strings [NAME...]
"""

import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
import pandas
import skl2onnx
from onnx import TensorProto, helper
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn import compose, ensemble, feature_extraction, linear_model, naive_bayes, neighbors, pipeline, preprocessing, tree

OPSETS = {"": 17, "ai.onnx.ml": 3}
TEXTS = [
    "the cat sat on the mat", "dogs chase the cat", "I love my dog", "cats and dogs are pets", "my pet cat sleeps all day", "the dog barks at night",
    "a kitten is a small cat", "puppies are small dogs", "feed the cat twice a day", "walk the dog every morning", "stocks fell sharply today",
    "the market rallied on earnings", "investors bought bonds", "interest rates rise again", "the bank cut its dividend", "shares of the company soared",
    "inflation worries hit stocks", "the fund sold its shares", "bond yields fell today", "earnings beat the market",
]
TOPICS = np.array(["pets"] * 10 + ["finance"] * 10)
UNSEEN = ["the cat sat on the mat", "Investors bought bonds zebra", "THE CAT beats the market", "my dog, my DOG!", "interest rates rise again", "a small Ärger today"]


def converted(model, kinds, **options):
    return skl2onnx.convert_sklearn(model, initial_types=kinds, target_opset=OPSETS, options=options or None)


def made():
    """Name, model, inputs."""
    text = [("text", StringTensorType([None, 1]))]
    column = np.array(UNSEEN).reshape(-1, 1)
    for name, words in [("tfidf", feature_extraction.text.TfidfVectorizer()), ("pairs", feature_extraction.text.CountVectorizer(ngram_range=(1, 2))),
                        ("characters", feature_extraction.text.CountVectorizer(analyzer="char", ngram_range=(2, 3)))]:
        last = linear_model.LogisticRegression() if name == "tfidf" else naive_bayes.MultinomialNB()
        yield name, converted(pipeline.make_pipeline(words, last).fit(TEXTS, TOPICS), text, zipmap=name == "tfidf"), {"text": column}
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"colour": rng.choice(["red", "green", "blue"], 200), "size": rng.choice(["S", "M", "L", "XL"], 200), "price": rng.normal(size=200)})
    verdict = np.where(table.price + (table.colour == "red") > 0.5, "buy", "sell")
    parts = compose.ColumnTransformer([("c", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]), ("n", "passthrough", ["price"])])
    model = pipeline.make_pipeline(parts, ensemble.RandomForestClassifier(5, max_depth=4, random_state=0)).fit(table, verdict)
    kinds = [("colour", StringTensorType([None, 1])), ("size", StringTensorType([None, 1])), ("price", FloatTensorType([None, 1]))]
    rows = {"colour": np.array([["red"], ["pink"], ["blue"], ["green"]]), "size": np.array([["S"], ["M"], ["XL"], ["?"]]), "price": np.array([[0.3], [-1], [2], [0.1]], np.float32)}
    yield "columns", converted(model, kinds, zipmap=False), rows
    both = table[["colour", "size"]].to_numpy(dtype=str)
    ordinal = preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    yield "ordinal", converted(pipeline.make_pipeline(ordinal, tree.DecisionTreeClassifier(max_depth=5, random_state=0)).fit(both, verdict), [("row", StringTensorType([None, 2]))], zipmap=False), {
        "row": np.array([["red", "S"], ["pink", "M"], ["blue", "XL"]])}
    x = rng.normal(size=(60, 3)).astype(np.float32)
    names = np.array(["low", "middle", "high"])[np.digitize(x[:, 0] + x[:, 1] / 2, [-0.5, 0.5])]
    number = [("x", FloatTensorType([None, 3]))]
    yield "labels", converted(tree.DecisionTreeClassifier(random_state=0).fit(x, names), number), {"x": x[:6]}
    yield "neighbours", converted(neighbors.KNeighborsClassifier(3).fit(x[:20], names[:20]), number, zipmap=False), {"x": x[20:26]}
    yield from nodes()


def model(nodes, inputs, outputs, constants=()):
    kinds = {str: TensorProto.STRING, float: TensorProto.FLOAT, int: TensorProto.INT64}
    graph = helper.make_graph(nodes, "strings", [helper.make_tensor_value_info(n, kinds[k], s) for n, k, s in inputs],
                              [helper.make_tensor_value_info(n, kinds[k], None) for n, k in outputs],
                              [helper.make_tensor(n, kinds[k], np.shape(v), np.ravel(v).tolist()) for n, k, v in constants])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("com.microsoft", 1)])


def nodes():
    """Models of a few nodes, for each operator on strings."""
    ml, microsoft = {"domain": "ai.onnx.ml"}, {"domain": "com.microsoft"}
    words = ["the", "Cat", "sat", "the", "MAT", "ärger"]
    counted = {"min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 1, "ngram_counts": [0, 4, 8], "ngram_indexes": [0, 3, 2, 1, 5, 4, 6],
               "pool_strings": ["a", "b", "c", "d", "a", "b", "b", "c", "a", "b", "c"]}
    yield "normalizer", model([
        helper.make_node("StringNormalizer", ["x"], ["n"], case_change_action="UPPER", is_case_sensitive=0, stopwords=["THE"], locale="C.UTF-8"),
        helper.make_node("TfIdfVectorizer", ["n"], ["y"], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[1, 0, 2], pool_strings=["CAT", "SAT", "ÄRGER"])],
        [("x", str, [6])], [("y", float)]), {"x": np.array(words)}
    yield "stopwords", model([
        helper.make_node("StringNormalizer", ["x"], ["n"], case_change_action="NONE", is_case_sensitive=1, stopwords=["the", "mat"], locale="C.UTF-8"),
        helper.make_node("TfIdfVectorizer", ["n"], ["y"], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 1], pool_strings=["MAT", "Cat"])],
        [("x", str, [6])], [("y", float)]), {"x": np.array(words)}
    letters = np.array([list("abcabc"), list("dbbcab"), list("xxaxbb")])
    for mode, more in [("TF", {}), ("IDF", {"weights": [1, 0.5, 2, 3, 0.25, 1, 7.0]}), ("TFIDF", {"weights": [1, 0.5, 2, 3, 0.25, 1, 7.0]})]:
        yield "ngrams_" + mode, model([helper.make_node("TfIdfVectorizer", ["x"], ["y"], mode=mode, **counted, **more)], [("x", str, ["N", 6])], [("y", float)]), {"x": letters}
    sentences = np.array(["a, b;c", "b;a,a ,d", "", "c"])
    yield "separators", model([
        helper.make_node("Tokenizer", ["x"], ["t"], mark=0, mincharnum=1, pad_value="#", separators=[",", ";", " "], **microsoft),
        helper.make_node("TfIdfVectorizer", ["t"], ["y"], mode="TF", **counted)], [("x", str, ["N"])], [("y", float)]), {"x": sentences}
    yield "marks", model([
        helper.make_node("Tokenizer", ["x"], ["t"], mark=1, mincharnum=2, pad_value="#", tokenexp="[a-z]+|[0-9]+", **microsoft),
        helper.make_node("TfIdfVectorizer", ["t"], ["y"], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3], pool_strings=["ab", "12", "\x02", "\x02", "ab"])],
        [("x", str, ["N"])], [("y", float)]), {"x": np.array(["ab12 c", "x ab ab", "12"])}
    yield "split", model([
        helper.make_node("StringSplit", ["x"], ["t", "n"], delimiter=" "),
        helper.make_node("TfIdfVectorizer", ["t"], ["y"], mode="TF", **counted)], [("x", str, ["N"])], [("y", float), ("n", int)]), {"x": np.array(["a b  c", "b", "c a b d"])}
    yield "join", model([
        helper.make_node("StringConcat", ["x", "z"], ["t"]),
        helper.make_node("OneHotEncoder", ["t"], ["y"], cats_strings=["ab", "cb", "b"], zeros=1, **ml)],
        [("x", str, ["N", 2])], [("y", float)], [("z", str, ["b", "b"])]), {"x": np.array([["a", "c"], ["", "x"]])}
    yield "match", model([
        helper.make_node("RegexFullMatch", ["x"], ["t"], pattern=r"[a-z]+@[a-z]+\.org"), helper.make_node("Not", ["t"], ["n"]), helper.make_node("Cast", ["n"], ["y"], to=1)],
        [("x", str, ["N"])], [("y", float)]), {"x": np.array(["me@here.org", "me@here.org!", "x"])}
    yield "encoders", model([
        helper.make_node("LabelEncoder", ["x"], ["t"], keys_strings=["one", "two"], values_strings=["1st", "2nd"], default_string="none", **ml),
        helper.make_node("LabelEncoder", ["t"], ["y"], keys_strings=["1st", "2nd", "none"], values_int64s=[10, 20, 7], **ml),
        helper.make_node("LabelEncoder", ["x"], ["z"], keys_strings=["two", "one"], values_floats=[2.5, -1.5], default_float=0.25, **ml),
        helper.make_node("CategoryMapper", ["x"], ["c"], cats_strings=["two", "three"], cats_int64s=[2, 3], default_int64=-7, **ml)],
        [("x", str, ["N", 2])], [("y", int), ("z", float), ("c", int)]), {"x": np.array([["one", "two"], ["three", "one"]])}
    yield "names", model([  # of what the model computes
        helper.make_node("Mul", ["x", "two"], ["d"]), helper.make_node("Cast", ["d"], ["i"], to=7),
        helper.make_node("LabelEncoder", ["i"], ["s"], keys_int64s=[2, 4, 6], values_strings=["few", "some", "few"], default_string="many", **ml),
        helper.make_node("Reshape", ["s", "shape"], ["y"]),
        helper.make_node("LabelEncoder", ["y"], ["z"], keys_strings=["many", "few"], values_int64s=[100, 1], default_int64=50, **ml)],
        [("x", float, ["N", 2])], [("y", str), ("z", int)], [("two", float, 2.0), ("shape", int, [-1])]), {"x": np.array([[1, 2], [3, 9]], np.float32)}
    # ONNX Runtime 1.31.1 gathers strings wrongly along any axis but the last.
    yield "moves", model([
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("Unsqueeze", ["t", "first"], ["u"]), helper.make_node("Squeeze", ["u", "first"], ["s"]),
        helper.make_node("Concat", ["s", "s"], ["c"], axis=1), helper.make_node("Gather", ["c", "columns"], ["g"], axis=1), helper.make_node("Flatten", ["g"], ["f"], axis=1),
        helper.make_node("OneHotEncoder", ["f"], ["y"], cats_strings=["p", "q", "r"], zeros=1, **ml)],
        [("x", str, [2, 3])], [("y", float)], [("first", int, [0]), ("columns", int, [3, 0, 1])]), {"x": np.array([["p", "q", "r"], ["q", "z", "p"]])}
    yield "cast", model([helper.make_node("Cast", ["x"], ["t"], to=1), helper.make_node("Equal", ["s", "same"], ["e"]), helper.make_node("Cast", ["e"], ["z"], to=1), helper.make_node("Add", ["t", "z"], ["y"])],
                        [("x", str, ["N"]), ("s", str, ["N"])], [("y", float)], [("same", str, ["yes"])]), {"x": np.array(["1.5", "-2"]), "s": np.array(["no", "yes"])}


def runnable(data):
    """The model for ONNX Runtime on a machine that has one locale."""
    m = onnx.load_from_string(data)
    for n in m.graph.node:
        if n.op_type == "StringNormalizer" and not any(a.name == "locale" for a in n.attribute):
            n.attribute.append(helper.make_attribute("locale", "C.UTF-8"))
    return m.SerializeToString()


def main():
    folder, only = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    for name, m, inputs in made():
        if only and name not in only:
            continue
        data = m.SerializeToString()
        session = onnxruntime.InferenceSession(runnable(data))
        given = {n: v.astype(object) if v.dtype.kind == "U" else v for n, v in inputs.items()}
        want = {}
        for o, v in zip(session.get_outputs(), session.run(None, given)):
            if isinstance(v, list):  # of a ZipMap
                v = np.array([list(row.values()) for row in v])
            v = np.asarray(v)
            want[o.name] = {"shape": list(v.shape), "values": v.ravel().tolist()}
        path = os.path.join(folder, name)
        with open(path + ".onnx", "wb") as f:
            f.write(data)
        for suffix, what in [(".json", {n: v.tolist() for n, v in inputs.items()}), (".want.json", want)]:
            with open(path + suffix, "w") as f:
                json.dump(what, f, ensure_ascii=False)
                f.write("\n")


main()
