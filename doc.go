// Package provemodel proves that a machine-learning model gives an output on an input, and verifies such
// proofs. The command prove-model is built on this package.
//
// # From a model file to a verdict
//
// The prover starts from a model with floating-point weights. Open reads it, and Quantise turns it into a
// Circuit: the same computation on integers. Quantise runs the float model on samples to find the range of
// each value. A proof is about the circuit, and covers it exactly: every product, rounding, clamp and table
// look-up. The distance between the circuit and the float model is measured (Compare), not proved.
//
//	m, err := provemodel.Open("digits.onnx", nil)
//	circuit, err := provemodel.Quantise(ctx, m, samples, nil)
//
// Commit commits to the circuit's weights. The result has a verification key, a file of some kilobytes for
// a small model. The digest of the key, its Commitment, stands for the model together with its weights. A
// model is committed to once; after that, Prove proves any number of runs.
//
//	committed, err := provemodel.Commit(ctx, circuit, nil)
//	os.WriteFile("digits.vk", committed.KeyFile(), 0o644)
//	proof, err := provemodel.Prove(ctx, committed, input, nil)
//	os.WriteFile("digits.proof", proof.File, 0o644)
//
// The verifier has these two files, and must know that the key belongs to the model it means: the model's
// owner gives the key or publishes its commitment. The verifier needs neither the model nor the weights nor
// the activations.
//
//	key, err := provemodel.ReadKey(vk)
//	statement, err := provemodel.Verify(key, proof, &provemodel.VerifyOptions{ExpectCommitment: &commitment})
//
// The statement holds the input and the output. By default a proof hides nothing: it contains evaluations
// of weights and activations, and enough proofs of one key reveal the weights. CommitOptions.Hide makes a
// key that hides its weights, and ProveOptions.HideInputs and HideOutputs hide inputs and outputs of one
// proof (docs/hiding.md).
//
// # Errors
//
// If an error of Verify wraps ErrInvalid, the statement is not proved; any other error of Verify is a
// failure to read the proof or a wrong option. ErrOtherModel, ErrOtherInput and WeakError give the reason.
// A function that takes a context returns the context's error as soon as the context ends.
//
// # Options
//
// Each call takes a struct of options, such as CommitOptions, which lists all that the call looks at. A nil
// pointer and the zero value of a field stand for the default: 100 bits of security in every round, a
// precision that brings the outputs close to the float model's, the processor alone, no cache. A Device
// (OpenGPU) and a cache make the same proofs faster. An Observer is told of the progress; the package
// prints nothing. Options that a call cannot honour are refused before any work begins.
//
// # Programs that only verify
//
// Programs that only verify import prover/verifier and prover/proof, on which Verify is built. These
// packages depend on no model reader, no prover and no GPU, and build for js/wasm.
package provemodel
