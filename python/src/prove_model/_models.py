"""Models of Python as files that the command reads."""

from __future__ import annotations

import contextlib
import inspect
import io
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ._arrays import Array, Inputs, is_path, named
from ._errors import ProveModelError

MOST_BYTES = 2**31 - 1  # of a protocol buffer


def as_file(model: Any, inputs: Inputs | None, folder: Path) -> str:
    """The path of the model: its own if it has one, else that of an ONNX file in the folder."""
    if is_path(model):
        return str(os.fspath(model))
    proto = model if is_proto(model) else to_onnx(model, inputs)
    path = folder / "model.onnx"
    if proto.ByteSize() > MOST_BYTES:
        import onnx

        onnx.save_model(proto, str(path), save_as_external_data=True, location="model.data")
    else:
        path.write_bytes(proto.SerializeToString(deterministic=True))
    return os.fspath(path)


def is_proto(model: Any) -> bool:
    return hasattr(model, "SerializeToString") and hasattr(model, "graph")


def to_onnx(model: Any, inputs: Inputs | None = None) -> Any:
    """An ONNX ModelProto of a torch module or a scikit-learn estimator.

    Torch modules need inputs, whose values do not matter: their first axis becomes a batch of any size if all have the
    same length there and the module allows it. prove and commit do this themselves; whoever proves a model often saves
    the file and gives its path, so that the model's key does not depend on the exporter's version.
    """
    bases = {c.__module__.partition(".")[0] for c in type(model).__mro__}
    if "torch" in bases:
        return from_torch(model, inputs)
    if "sklearn" in bases:
        return from_sklearn(model)
    raise TypeError(f"a model of type {type(model).__name__}: want the path of an ONNX file or of a folder, an ONNX ModelProto, "
                    "a torch module or a scikit-learn estimator")


def from_torch(module: Any, inputs: Inputs | None) -> Any:
    if inputs is None or is_path(inputs):
        raise ProveModelError("a torch module is exported with example inputs, which are arrays", "give inputs, or calibration as arrays")
    names, arrays = arguments(module, inputs)
    training = module.training
    module.eval()
    try:
        with without_cache(module):
            return tidy(exported(module, names, arrays))
    finally:
        module.train(training)


@contextlib.contextmanager
def without_cache(module: Any) -> Iterator[None]:
    """Has a language model of transformers give its logits alone: by default it gives keys and values of the tokens that it
    read too, for those that follow, in objects that no exporter writes."""
    config = getattr(module, "config", None)
    settings = {name: False for name in ("use_cache", "output_attentions", "output_hidden_states") if getattr(config, name, False) is True}
    for name, value in settings.items():
        setattr(config, name, value)
    try:
        yield
    finally:
        for name in settings:
            setattr(config, name, True)


def arguments(module: Any, inputs: Inputs) -> tuple[list[str], list[Array]]:
    """The arrays in the order of forward's parameters, and the names of these."""
    given = named(inputs)
    parameters = [p for p in inspect.signature(module.forward).parameters.values()
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    order = [p.name for p in parameters]
    if isinstance(inputs, Mapping) and set(given) <= set(order):
        names = [name for name in order if name in given]
        if names != order[:len(names)]:
            raise ProveModelError(f"the module's forward takes {', '.join(order)}: inputs are wanted from the first on, without gaps")
        return names, [given[name] for name in names]
    if isinstance(inputs, Mapping):
        raise ProveModelError(f"the module's forward takes {', '.join(order)}, not {', '.join(sorted(set(given) - set(order)))}")
    if len(given) > len(order):  # *args
        order = list(given)
    return order[:len(given)], list(given.values())


def exported(module: Any, names: list[str], arrays: list[Array]) -> Any:
    """What torch's exporter makes of a module: the new one, then the old one, with a batch of any size first."""
    import torch

    tensors = [example(torch, module, a) for a in arrays]
    failures = []
    batch = all(t.ndim > 0 and t.shape[0] == tensors[0].shape[0] for t in tensors)
    # An example of one is taken for a batch that is always one.
    several = [torch.cat([t, t])[:2] for t in tensors] if batch else tensors
    attempts = [(new, args, open_) for open_, args in ((True, several), (False, tensors)) for new in (True, False) if batch or not open_]
    for new, args, open_ in attempts:
        try:
            return attempt(torch, module, names, args, new, open_)
        except Exception as problem:  # whatever an exporter raises
            failures.append(f"{'dynamo' if new else 'legacy'} exporter, {'open' if open_ else 'fixed'} batch: {problem}")
    raise ProveModelError("torch cannot export the module:\n" + "\n".join(failures),
                          "torch.onnx.export in your own program, and give the path of its file")


def example(torch: Any, module: Any, array: Array) -> Any:
    tensor = torch.from_numpy(array.copy())
    if tensor.is_floating_point():
        dtype = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
        tensor = tensor.to(dtype)
    elif tensor.dtype != torch.bool:
        tensor = tensor.to(torch.int64)
    return tensor.to(next((p.device for p in module.parameters()), "cpu"))


def attempt(torch: Any, module: Any, names: list[str], args: list[Any], new: bool, batch: bool) -> Any:
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if new:
            open_batch = tuple({0: torch.export.Dim("batch", min=1, max=4096)} for _ in args) if batch else None
            program = torch.onnx.export(module, tuple(args), input_names=names, dynamic_shapes=open_batch, dynamo=True, verbose=False)
            return program.model_proto
        buffer = io.BytesIO()
        axes = {name: {0: "batch"} for name in names} if batch else None
        torch.onnx.export(module, tuple(args), buffer, input_names=names, dynamic_axes=axes, dynamo=False, opset_version=17)
        import onnx

        return onnx.load_model_from_string(buffer.getvalue())


def tidy(proto: Any) -> Any:
    """Without what an exporter notes about the program that ran it, so that a module gives one file."""
    proto.ClearField("metadata_props")
    proto.ClearField("doc_string")
    stack = [proto.graph, *proto.functions]
    while stack:
        graph = stack.pop()
        for field in ("metadata_props", "doc_string"):
            graph.ClearField(field)
        for node in graph.node:
            node.ClearField("metadata_props")
            node.ClearField("doc_string")
            stack += [a.g for a in node.attribute if a.HasField("g")]
        for values in ("input", "output", "value_info"):
            for value in getattr(graph, values, ()):
                value.ClearField("metadata_props") if hasattr(value, "metadata_props") else None
    return proto


def from_sklearn(estimator: Any) -> Any:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    features = getattr(estimator, "n_features_in_", None)
    if features is None:
        raise ProveModelError("the estimator is not fitted: it does not know the number of its features", "call fit first")
    classifier = hasattr(estimator, "classes_")
    options = {id(estimator): {"zipmap": False}} if classifier else None
    proto = convert_sklearn(estimator, initial_types=[("X", FloatTensorType([None, features]))], options=options, target_opset=17)
    if classifier and len(proto.graph.output) > 1:
        keep(proto.graph, "probabilities")
    for node in proto.graph.node:
        if node.op_type == "TreeEnsembleClassifier":
            round_votes(node)
    return proto


VOTE = 2.0**-22
"""What votes of trees are multiples of: the integers of a proof hold these as they are."""


def round_votes(node: Any) -> None:
    """Rounds the votes of a forest down, so that those of all trees add up to a probability, at most 1, in integers too:
    rounded to nearest they may add up to more."""
    for attribute in node.attribute:
        if attribute.name == "class_weights" and all(0 <= vote <= 1 for vote in attribute.floats):
            votes = [math.floor(vote / VOTE + 1e-3) * VOTE for vote in attribute.floats]  # a thousandth is what float32 is off
            del attribute.floats[:]
            attribute.floats.extend(votes)


def keep(graph: Any, output: str) -> None:
    """Leaves one output and what it needs. A label is the class of the largest of the probabilities."""
    needed, nodes = {output}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            nodes.append(node)
            needed |= set(node.input)
    kept = list(reversed(nodes))
    outputs = [o for o in graph.output if o.name == output]
    weights = [w for w in graph.initializer if w.name in needed]
    for field, values in (("node", kept), ("output", outputs), ("initializer", weights)):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
