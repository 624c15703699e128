package pipeline

import (
	"fmt"
	"io"
	"strings"

	"github.com/prove-model/prove-model/cmd/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Output is one output of the model.
type Output struct {
	Name   string    `json:"name"`
	Shape  []int     `json:"shape"`
	Values []float64 `json:"values"`          // what the proof is about
	Float  []float64 `json:"float,omitempty"` // of the float model, for comparison
	// MaxError is the largest difference between the two, RangeError the same
	// in units of the float output's range (with 0), Cosine their cosine
	// similarity.
	MaxError   float64 `json:"max_error"`
	RangeError float64 `json:"range_error"`
	Cosine     float64 `json:"cosine"`
}

// Proved is the result of Prove.
type Proved struct {
	Model       string `json:"model"`
	Parameters  int    `json:"parameters"`
	Input       string `json:"input"`       // file or how it was made up
	Calibration string `json:"calibration"` // likewise
	Proof       string `json:"proof"`
	VK          string `json:"vk"`
	Commitment  string `json:"model_commitment"` // hexadecimal
	// CachedCommitment says that the model's commitment came from the cache.
	CachedCommitment bool         `json:"cached_commitment"`
	Outputs          []Output     `json:"outputs"`
	Saturated        []Saturation `json:"saturated"`
	Phases           []ui.Phase   `json:"phases"`
	ProofBytes       int64        `json:"proof_bytes"`
	KeyBytes         int64        `json:"key_bytes"`
	PeakMemory       int64        `json:"peak_memory_bytes"`
	SecurityBits     float64      `json:"security_bits"`
	SelfChecked      bool         `json:"self_checked"`
}

// Saturation counts the values of one place that were clamped.
type Saturation struct {
	Where string `json:"where"`
	Count int    `json:"count"`
}

// Print writes the result as text.
func (p *Proved) Print(w io.Writer) {
	fmt.Fprintf(w, "model       %s, %d parameters, commitment %s…\n", p.Model, p.Parameters, p.Commitment[:16])
	fmt.Fprintf(w, "input       %s\n", p.Input)
	for _, o := range p.Outputs {
		fmt.Fprintf(w, "output      %s %v = %s\n", o.Name, o.Shape, preview(o.Values))
		fmt.Fprintf(w, "float       %s %v = %s\n", o.Name, o.Shape, preview(o.Float))
		fmt.Fprintf(w, "error       at most %.3g, %.3g %% of the range; cosine %.6f\n", o.MaxError, 100*o.RangeError, o.Cosine)
	}
	for _, s := range p.Saturated {
		fmt.Fprintf(w, "saturated   %d values at %s\n", s.Count, s.Where)
	}
	fmt.Fprintf(w, "proof       %s, %s\n", p.Proof, ui.Bytes(p.ProofBytes))
	fmt.Fprintf(w, "key         %s, %s\n", p.VK, ui.Bytes(p.KeyBytes))
	fmt.Fprintf(w, "security    %.1f bits in the weakest round\n", p.SecurityBits)
	if p.PeakMemory > 0 {
		fmt.Fprintf(w, "memory      %s at most\n", ui.Bytes(p.PeakMemory))
	}
}

// Verified is the result of Verify.
type Verified struct {
	Valid        bool     `json:"valid"`
	Reason       string   `json:"reason,omitempty"` // why not
	Commitment   string   `json:"model_commitment,omitempty"`
	Inputs       []Values `json:"inputs,omitempty"`
	Outputs      []Values `json:"outputs,omitempty"`
	Saturated    int      `json:"input_saturated,omitempty"` // entries of the given input that are beyond the model's range
	SecurityBits float64  `json:"security_bits,omitempty"`
	ProofBytes   int64    `json:"proof_bytes,omitempty"`
	Seconds      float64  `json:"seconds"`
}

// Values is a public tensor of a proof.
type Values struct {
	Name   string    `json:"name"`
	Shape  []int     `json:"shape"`
	Values []float64 `json:"values"`
}

// Print writes the result as text.
func (v *Verified) Print(w io.Writer) {
	if !v.Valid {
		fmt.Fprintf(w, "NOT VALID: %s\n", strings.TrimPrefix(v.Reason, verifier.ErrInvalid.Error()+": "))
		return
	}
	fmt.Fprintf(w, "VALID: the model with commitment %s…\n", v.Commitment[:16])
	for _, in := range v.Inputs {
		fmt.Fprintf(w, "maps        %s %v = %s\n", in.Name, in.Shape, preview(in.Values))
	}
	if v.Saturated > 0 {
		fmt.Fprintf(w, "saturated   %d values of the given input, which stand for the ends of the range\n", v.Saturated)
	}
	for _, out := range v.Outputs {
		fmt.Fprintf(w, "to          %s %v = %s\n", out.Name, out.Shape, preview(out.Values))
	}
	fmt.Fprintf(w, "security    %.1f bits in the weakest round\n", v.SecurityBits)
	fmt.Fprintf(w, "verified    %s in %.1f ms\n", ui.Bytes(v.ProofBytes), 1e3*v.Seconds)
}

// preview shows the first few values.
func preview(v []float64) string {
	const most = 10
	var b strings.Builder
	for i, x := range v {
		if i == most {
			fmt.Fprintf(&b, " … (%d)", len(v))
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%.5g", x)
	}
	return b.String()
}
