// Package provemodel proves that a machine-learning model gives an output on an
// input, and verifies such proofs. The command prove-model is a thin user of it.
//
// # From a model file to a verdict
//
// The prover has a float model. Open reads it, and Quantise turns it into a
// Circuit, a computation on integers whose values get their ranges from
// samples. What is proved from there on is the circuit, exactly: every product,
// rounding, clamp and look-up. How far it is from the float model is measured
// (Compare), not proved.
//
//	m, err := provemodel.Open("digits.onnx", nil)
//	circuit, err := provemodel.Quantise(ctx, m, samples, nil)
//
// Commit commits to the circuit's weights. That gives a verification key of a
// few kilobytes, whose digest, the Commitment, stands for the model with its
// weights. A model is committed to once; Prove then proves any number of runs.
//
//	committed, err := provemodel.Commit(ctx, circuit, nil)
//	os.WriteFile("digits.vk", committed.KeyFile(), 0o644)
//	proof, err := provemodel.Prove(ctx, committed, input, nil)
//	os.WriteFile("digits.proof", proof.File, 0o644)
//
// The verifier has the two files, and knows that the key is the model's: from
// the model's owner, or by its commitment. It needs neither the model nor the
// weights nor the activations.
//
//	key, err := provemodel.ReadKey(vk)
//	statement, err := provemodel.Verify(key, proof, &provemodel.VerifyOptions{ExpectCommitment: &commitment})
//
// The statement holds the input and the output. There is no zero-knowledge: a
// proof also leaks evaluations of weights and activations.
//
// # Errors
//
// An error of Verify wraps ErrInvalid if it means "this is not proved"; any
// other is one of reading. ErrOtherModel, ErrOtherInput and WeakError say more.
// Functions that take a context return its error as soon as it ends.
//
// # Options
//
// Each call has a struct of what it honours, such as CommitOptions; nil, and a field's zero
// value, are the default: 100 bits of security in every round, the precision that brings
// the outputs close to the float model's, the processor alone, no cache. A Device (OpenGPU)
// and a cache make the same proofs sooner. An Observer is told of progress; nothing is
// printed. What a call cannot do is refused before any work.
//
// # Verifying alone
//
// Programs that only verify import prover/verifier and prover/proof, on which
// Verify rests: they depend on no model reader, no prover and no GPU, and build
// for js/wasm.
package provemodel
