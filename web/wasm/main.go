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
	"syscall/js"
	"unsafe"

	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/web/verdict"
)

func main() {
	js.Global().Set("proveModelVerifier", js.FuncOf(func(_ js.Value, args []js.Value) any {
		v, err := verify(args[0], args[1], args[2], args[3])
		if err != nil {
			return map[string]any{"valid": false, "reason": verdict.Reason(err)}
		}
		return v
	}))
	select {} // the function lives as long as the page
}

func verify(keyFile, proofFile, options, progress js.Value) (any, error) {
	o := &verdict.Options{MinBits: options.Get("minBits").Int()}
	if c := options.Get("commitment"); !c.IsNull() {
		text := c.String()
		o.Commitment = &text
	}
	if names := options.Get("names"); !names.IsNull() {
		values := options.Get("values")
		o.Names = []string{} // none is given, rather than any
		for i := range names.Length() {
			o.Names, o.Values = append(o.Names, names.Index(i).String()), append(o.Values, floats(values.Index(i)))
		}
	}
	v, err := verdict.Of(content(keyFile), content(proofFile), o, func(read, size int) { progress.Invoke(read, size) })
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"valid": true, "reason": "", "commitment": v.Commitment,
		"inputs": tensors(statement.Inputs(v.Result)), "outputs": tensors(statement.Outputs(v.Result)),
		"clamped": v.Clamped, "saturated": saturations(statement.Saturations(v.Result)), "bytes": v.Bytes,
		"security": map[string]any{
			"total": v.Strength.Total.Float(), "proven": v.Strength.Proven.Float(), "work": v.Strength.Work().Float(),
		},
	}, nil
}

func content(array js.Value) []byte {
	b := make([]byte, array.Get("length").Int())
	js.CopyBytesToGo(b, array)
	return b
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
