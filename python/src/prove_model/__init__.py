"""Prove that a machine-learning model gives an output on an input, and verify such proofs.

    proof = prove_model.prove(model, image)
    verdict = prove_model.verify(proof, proof.key, inputs=image)
    verdict.require().outputs["logits"]

A model is an ONNX file or ModelProto, a torch module, a scikit-learn estimator, or a folder. The work is done by the
command prove-model, which is part of this package: ``python -m prove_model`` runs it.
"""

from ._api import check_key, commit, inspect, prove, verify
from ._errors import InaccurateError, InvalidProof, ProveModelError, ProveModelWarning
from ._models import to_onnx
from ._results import Accuracy, Key, Phase, Proof, Saturation, Verdict

__all__ = [
    "Accuracy", "InaccurateError", "InvalidProof", "Key", "Phase", "Proof", "ProveModelError", "ProveModelWarning",
    "Saturation", "Verdict", "check_key", "commit", "inspect", "prove", "to_onnx", "verify",
]
