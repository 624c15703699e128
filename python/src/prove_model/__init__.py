"""Prove that a machine-learning model gives an output on an input, and verify such proofs.

    proof = prove_model.prove(model, image)
    verdict = prove_model.verify(proof, proof.key, inputs=image)
    verdict.require().outputs["logits"]

A model is an ONNX file or ModelProto, a torch module, a scikit-learn estimator, or a folder. The work is done by the
command prove-model, which is part of this package: ``python -m prove_model`` runs it.
"""

from importlib.metadata import PackageNotFoundError, version

from ._api import Sampling, check_key, commit, inspect, prove, verify
from ._async import check_key_async, commit_async, prove_async, verify_async
from ._errors import InaccurateError, InvalidProof, ProveModelError, ProveModelWarning
from ._models import to_onnx
from ._options import CheckKeyOptions, CommitOptions, InspectOptions, ProveOptions
from ._results import Accuracy, Key, Phase, Proof, Saturation, Verdict

try:
    __version__ = version("prove-model")
except PackageNotFoundError:  # from a clone, with PROVE_MODEL_COMMAND
    __version__ = "unknown"

__all__ = [
    "Accuracy", "CheckKeyOptions", "CommitOptions", "InaccurateError", "InspectOptions", "InvalidProof", "Key", "Phase",
    "Proof", "ProveModelError", "ProveModelWarning", "ProveOptions", "Sampling", "Saturation", "Verdict", "__version__",
    "check_key", "check_key_async", "commit", "commit_async", "inspect", "prove", "prove_async", "to_onnx", "verify", "verify_async",
]
