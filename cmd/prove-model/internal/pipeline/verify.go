package pipeline

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/onnx"
	"github.com/prove-model/prove-model/prover/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/quantise"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Verify checks the proof file against the key file and, if the settings name
// an input, that the proof is about that input. The error is a *NotValid, with
// a result that says so, when the proof does not hold.
func Verify(cfg *config.Config) (*Verified, error) {
	if cfg.Proof == "" || cfg.VK == "" {
		return nil, WithHint(errors.New("verify needs a proof and a key"), "prove-model verify --proof x.proof --vk x.vk")
	}
	var input onnx.Inputs
	if cfg.Input != "" {
		var err error
		if input, err = onnx.ReadInputs(cfg.Input); err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
	}
	vk, err := os.Open(cfg.VK)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	defer vk.Close()
	file, err := os.Open(cfg.Proof)
	if err != nil {
		return nil, fmt.Errorf("proof: %w", err)
	}
	defer file.Close()

	start := time.Now()
	key, err := proof.ReadKey(vk, proof.MaxKeySize)
	if err != nil {
		return judge(err)
	}
	result, err := verifier.Verify(key, file)
	if err != nil {
		return judge(err)
	}
	v := &Verified{
		Valid: true, Commitment: hex.EncodeToString(key.Digest[:]),
		Inputs: values(result.Circuit, result.Circuit.Inputs, result.Inputs), Outputs: values(result.Circuit, result.Circuit.Outputs, result.Outputs),
		SecurityBits: result.Security, ProofBytes: result.Bytes, Seconds: time.Since(start).Seconds(),
	}
	if input != nil {
		if v.Saturated, err = sameInput(result.Circuit, result.Inputs, input); err != nil {
			return judge(fmt.Errorf("%w: input %s: %w", verifier.ErrInvalid, cfg.Input, err))
		}
	}
	return v, nil
}

// judge tells a proof that does not hold from a file that cannot be read.
func judge(err error) (*Verified, error) {
	if errors.Is(err, verifier.ErrInvalid) || errors.Is(err, proof.ErrMalformed) {
		return &Verified{Reason: err.Error()}, &NotValid{err}
	}
	return nil, err
}

// sameInput checks that the public inputs of a proof are the given ones, as the
// quantiser rounds them, and returns how many of these it had to clamp: the
// proof is the same for all values beyond an input's range.
func sameInput(g *model.Graph, public [][]int32, input onnx.Inputs) (saturated int, err error) {
	names := make([]string, len(g.Inputs))
	for i, id := range g.Inputs {
		names[i] = g.Tensors[id].Name
	}
	if len(input) == len(names) {
		input = inOrder(names, input)
	}
	ints, saturated, err := (&quantise.Model{Graph: g}).QuantiseInput(input.Data())
	if err != nil {
		return 0, err
	}
	for i := range ints {
		if !slices.Equal(ints[i], public[i]) {
			return 0, errors.New("the proof is about another input")
		}
	}
	return saturated, nil
}

// values returns public tensors as real numbers.
func values(g *model.Graph, ids []model.TensorID, ints [][]int32) []Values {
	out := make([]Values, len(ids))
	for i, id := range ids {
		t := &g.Tensors[id]
		out[i] = Values{Name: t.Name, Shape: t.Shape, Values: make([]float64, len(ints[i]))}
		if out[i].Shape == nil {
			out[i].Shape = []int{} // JSON: a scalar, not null
		}
		for j, v := range ints[i] {
			out[i].Values[j] = math.Ldexp(float64(v), -t.Frac)
		}
	}
	return out
}
