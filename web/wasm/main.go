//go:build js && wasm

// Command wasm is the verifier as WebAssembly. It sets globalThis.proveModelVerifier
// to a function
//
//	(key, proof: Uint8Array, options, progress) => verdict
//
// which verifies in one call, telling progress(bytes read, bytes) as it goes, and gives
// {valid, kind, reason} or what the proof states. Options are null where nothing is asked:
//
//	minBits     number
//	commitment  hexadecimal digits
//	input       [{name, shape, values: Float64Array}], what the proof should be about
//	sampling    {seed: decimal digits, temperature, topK, topP}, how tokens were drawn
//	tokenizer   Uint8Array, the file of it
package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall/js"
	"unsafe"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

func main() {
	js.Global().Set("proveModelVerifier", js.FuncOf(func(_ js.Value, args []js.Value) any {
		v, err := verify(args[0], args[1], args[2], args[3])
		if err != nil {
			return map[string]any{"valid": false, "kind": kind(err), "reason": reason(err)}
		}
		return v
	}))
	select {} // the function lives as long as the page
}

// kind says in a word why a proof is not accepted, for those who say it in their own.
func kind(err error) string {
	var weak *verifier.WeakError
	switch {
	case errors.As(err, &weak):
		return "weak"
	case errors.Is(err, verifier.ErrOtherModel):
		return "model"
	case errors.Is(err, statement.ErrOtherInput):
		return "input"
	case errors.Is(err, verifier.ErrOtherToken):
		return "drawn"
	case errors.Is(err, errTokenizer):
		return "tokenizer"
	case errors.Is(err, errOption):
		return "option"
	case errors.Is(err, proof.ErrMalformed):
		return "malformed"
	}
	return "proof"
}

// errOption is wrapped by the error about what is asked for.
var errOption = errors.New("what is asked for cannot be understood")

// reason is the text of an error without the part that the verdict says.
func reason(err error) string {
	why := strings.TrimPrefix(err.Error(), verifier.ErrInvalid.Error()+": ")
	var weak *verifier.WeakError
	if errors.As(err, &weak) {
		return fmt.Sprintf("%s; a least of %d bits accepts it", why, weak.Accepts())
	}
	return why
}

func verify(keyFile, proofFile, options, progress js.Value) (any, error) {
	policy := verifier.Policy{MinBits: options.Get("minBits").Int()}
	if c := options.Get("commitment"); !c.IsNull() {
		digest, err := hex.DecodeString(c.String())
		if err != nil || len(digest) != 32 {
			return nil, fmt.Errorf("%w: the commitment %q: want 64 hexadecimal digits", errOption, c.String())
		}
		policy.Commitment = (*[32]byte)(digest)
	}
	var err error
	if policy.Sampling, err = sampling(options.Get("sampling")); err != nil {
		return nil, err
	}
	key, err := proof.ReadKey(bytes.NewReader(content(keyFile)), proof.MaxKeySize)
	if err != nil {
		return nil, err
	}
	data := content(proofFile)
	result, err := policy.Verify(key, &follower{bytes.NewReader(data), len(data), 0, progress})
	if err != nil {
		return nil, err
	}
	clamped := 0
	if given := options.Get("input"); !given.IsNull() {
		if clamped, err = statement.Compare(result, arrays(given)); err != nil {
			return nil, err
		}
	}
	outputs := statement.Outputs(result)
	text, err := textOf(key, result, outputs, policy.Sampling, options.Get("tokenizer"))
	if err != nil {
		return nil, err
	}
	g := result.Circuit
	return map[string]any{
		"valid": true, "kind": "", "reason": "", "commitment": hex.EncodeToString(key.Digest[:]),
		"inputs": tensors(g, g.Inputs, statement.Inputs(result)), "outputs": tensors(g, g.Outputs, outputs), "text": text,
		"clamped": clamped, "saturated": saturations(statement.Saturations(result)), "bytes": result.Bytes,
		"security": map[string]any{
			"total": result.Strength.Total.Float(), "proven": result.Strength.Proven.Float(), "work": result.Strength.Work().Float(),
		},
	}, nil
}

func content(array js.Value) []byte {
	b := make([]byte, array.Get("length").Int())
	js.CopyBytesToGo(b, array)
	return b
}

// follower tells how much of the proof has been read.
type follower struct {
	io.Reader
	size, read int
	progress   js.Value
}

func (f *follower) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	f.read += n
	f.progress.Invoke(f.read, f.size)
	return n, err
}

// arrays copies a list of {name, shape, values}.
func arrays(list js.Value) []statement.Array {
	given := make([]statement.Array, list.Length())
	for i := range given {
		a := list.Index(i)
		given[i] = statement.Array{Name: a.Get("name").String(), Values: floats(a.Get("values"))}
		if shape := a.Get("shape"); !shape.IsNull() {
			given[i].Shape = make([]int, shape.Length())
			for k := range given[i].Shape {
				given[i].Shape[k] = shape.Index(k).Int()
			}
		}
	}
	return given
}

// floats copies a Float64Array.
func floats(array js.Value) []float64 {
	v := make([]float64, array.Get("length").Int())
	if len(v) > 0 {
		js.CopyBytesToGo(raw(v), bytesOf(array))
	}
	return v
}

// tensors are those of a statement. ids says that their entries are indexes, such as tokens or
// positions, and no quantities.
func tensors(g *model.Graph, ids []model.TensorID, list []statement.Tensor) []any {
	var out []any
	for i, t := range list {
		values := js.Global().Get("Float64Array").New(len(t.Values))
		if len(t.Values) > 0 {
			js.CopyBytesToJS(bytesOf(values), raw(t.Values))
		}
		out = append(out, map[string]any{"name": t.Name, "shape": numbers(t.Shape), "values": values, "ids": g.IsIds(ids[i])})
	}
	return out
}

// numbers is a list as JavaScript takes it.
func numbers(list []int) []any {
	out := make([]any, len(list))
	for i, n := range list {
		out[i] = n
	}
	return out
}

func saturations(list []statement.Saturation) []any {
	var out []any
	for _, s := range list {
		out = append(out, map[string]any{"where": s.Where, "count": s.Count, "of": s.Of})
	}
	return out
}

// raw is the memory of numbers, which WebAssembly has in the order of JavaScript's
// typed arrays.
func raw(v []float64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 8*len(v)) }

func bytesOf(array js.Value) js.Value {
	return js.Global().Get("Uint8Array").New(array.Get("buffer"), array.Get("byteOffset"), array.Get("byteLength"))
}
