//go:build js && wasm

// Command wasm is the verifier as WebAssembly. It sets globalThis.proveModelVerifier
// to a function
//
//	(key, proof: Uint8Array, options: {minBits, commitment, names, values}, progress) => verdict
//
// which verifies in one call, telling progress(bytes read, bytes) as it goes, and gives
// {valid, reason} or what the proof states. names and values are of the input that the
// proof should be about: strings and Float64Arrays; both null if any will do.
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

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

func main() {
	js.Global().Set("proveModelVerifier", js.FuncOf(func(_ js.Value, args []js.Value) any {
		v, err := verify(args[0], args[1], args[2], args[3])
		if err != nil {
			return map[string]any{"valid": false, "reason": reason(err)}
		}
		return v
	}))
	select {} // the function lives as long as the page
}

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
			return nil, fmt.Errorf("commitment %q: want 64 hexadecimal digits", c.String())
		}
		policy.Commitment = (*[32]byte)(digest)
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
	if names := options.Get("names"); !names.IsNull() {
		if clamped, err = compare(result, names, options.Get("values")); err != nil {
			return nil, err
		}
	}
	return map[string]any{
		"valid": true, "reason": "", "commitment": hex.EncodeToString(key.Digest[:]),
		"inputs": tensors(statement.Inputs(result)), "outputs": tensors(statement.Outputs(result)),
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

func compare(r *verifier.Result, names, values js.Value) (clamped int, err error) {
	var given []string
	var numbers [][]float64
	for i := range names.Length() {
		given = append(given, names.Index(i).String())
		numbers = append(numbers, floats(values.Index(i)))
	}
	return statement.Compare(r, given, numbers)
}

// floats copies a Float64Array.
func floats(array js.Value) []float64 {
	v := make([]float64, array.Get("length").Int())
	if len(v) > 0 {
		js.CopyBytesToGo(raw(v), bytesOf(array))
	}
	return v
}

func tensors(list []statement.Tensor) []any {
	var out []any
	for _, t := range list {
		values := js.Global().Get("Float64Array").New(len(t.Values))
		if len(t.Values) > 0 {
			js.CopyBytesToJS(bytesOf(values), raw(t.Values))
		}
		var shape []any
		for _, d := range t.Shape {
			shape = append(shape, d)
		}
		out = append(out, map[string]any{"name": t.Name, "shape": shape, "values": values})
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
