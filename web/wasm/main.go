//go:build js && wasm

// Command wasm is the verifier as WebAssembly. It sets globalThis.proveModelVerifier
// to a function
//
//	(key, proof: Uint8Array, options, progress) => verdict
//
// which verifies in one call. It calls progress(bytes read, bytes) as it reads the proof. It
// returns what the proof states, or, if the proof is not accepted, {valid, kind, reason}. All
// options but minBits may be null:
//
//	minBits     number, the least bits of security
//	commitment  hexadecimal digits, the key's commitment
//	input       [{name, shape, values: Float64Array}], what the proof should be about
//	sampling    {seed: decimal digits, temperature, topK, topP}, how tokens were drawn
//	tokenizer   Uint8Array, the file of the key's tokenizer
//	vocabulary  Uint8Array, the file of the key's vocabulary
package main

import (
	"syscall/js"
	"unsafe"

	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/web/verdict"
)

func main() {
	js.Global().Set("proveModelVerifier", js.FuncOf(func(_ js.Value, args []js.Value) any {
		v, err := verify(args[0], args[1], args[2], args[3])
		if err != nil {
			return map[string]any{"valid": false, "kind": verdict.Kind(err), "reason": verdict.Reason(err)}
		}
		return v
	}))
	select {} // the function lives as long as the page
}

// verify converts the arguments from JavaScript, verifies the proof, and returns the verdict as an object for JavaScript.
func verify(keyFile, proofFile, options, progress js.Value) (any, error) {
	o := &verdict.Options{MinBits: options.Get("minBits").Int()}
	if c := options.Get("commitment"); !c.IsNull() {
		text := c.String()
		o.Commitment = &text
	}
	if s := options.Get("sampling"); !s.IsNull() {
		rule := verifier.Sampling{Temperature: s.Get("temperature").Float(), TopK: s.Get("topK").Int(), TopP: s.Get("topP").Float()}
		o.Sampling = &verdict.Sampling{Seed: s.Get("seed").String(), Sampling: rule}
	}
	if given := options.Get("input"); !given.IsNull() {
		o.Input = arrays(given)
	}
	if file := options.Get("tokenizer"); !file.IsNull() {
		o.Tokenizer = content(file)
	}
	if file := options.Get("vocabulary"); !file.IsNull() && !file.IsUndefined() {
		o.Vocabulary = content(file)
	}
	v, err := verdict.Of(content(keyFile), content(proofFile), o, func(read, size int) { progress.Invoke(read, size) })
	if err != nil {
		return nil, err
	}
	g := v.Circuit
	return map[string]any{
		"valid": true, "kind": "", "reason": "", "commitment": v.Commitment,
		"inputs": tensors(g, g.Given(), statement.Inputs(v.Result)), "outputs": tensors(g, g.Outputs, v.Outputs), "text": text(v.Text), "texts": texts(v.Texts),
		"clamped": v.Clamped, "vocabulary": v.Vocabulary, "saturated": saturations(statement.Saturations(v.Result)), "masked": v.Masked, "hidden": hidden(v.Result), "weightsHiddenFor": v.HiddenFor, "bytes": v.Bytes,
		"security": map[string]any{
			"total": v.Strength.Total.Float(), "proven": v.Strength.Proven.Float(), "work": v.Strength.Work().Float(),
		},
	}, nil
}

// hidden are the inputs and outputs that are not stated.
func hidden(r *verifier.Result) any {
	list := []any{}
	for _, h := range statement.HiddenIn(r) {
		list = append(list, map[string]any{"input": h.Input, "name": h.Name, "words": h.String()})
	}
	return list
}

// texts is text for each text of a proof of several.
func texts(list []*verdict.Text) []any { return seq.Map(list, text) }

// text converts what a proof states about a text; it is null for nil.
func text(t *verdict.Text) any {
	if t == nil {
		return nil
	}
	out := map[string]any{"tokenizer": nil, "written": t.Generated, "prompt": nil, "answer": nil, "promptTokens": values(t.PromptTokens)}
	if t.Tokenizer != "" {
		out["tokenizer"] = t.Tokenizer
	}
	if t.Generated {
		out["ended"] = t.Ended
	}
	if w := t.Words; w != nil {
		out["prompt"], out["answer"], out["hidden"] = w.Prompt, w.Answer, w.Hidden
	}
	tokens := make([]any, len(t.Tokens))
	for i := range t.Tokens {
		c := choice(&t.Tokens[i])
		c["other"] = nil
		if other := t.Tokens[i].Other; other != nil {
			c["other"] = choice(other)
		}
		tokens[i] = c
	}
	out["tokens"] = tokens
	return out
}

func choice(c *verdict.Choice) map[string]any {
	out := map[string]any{"id": c.ID, "logit": nil, "piece": nil}
	if c.Logit != nil {
		out["logit"] = *c.Logit
	}
	if c.Piece != nil {
		out["piece"] = *c.Piece
	}
	return out
}

// content copies a Uint8Array.
func content(array js.Value) []byte {
	b := make([]byte, array.Get("length").Int())
	js.CopyBytesToGo(b, array)
	return b
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

// tensors converts the inputs or outputs of a statement; ids are their identifiers in the graph. The field ids of a
// result says that the entries are indexes, such as tokens or positions, and no quantities.
func tensors(g *model.Graph, ids []model.TensorID, list []statement.Tensor) []any {
	var out []any
	for i, t := range list {
		entries := js.Global().Get("Float64Array").New(len(t.Values))
		if len(t.Values) > 0 {
			js.CopyBytesToJS(bytesOf(entries), raw(t.Values))
		}
		of := map[string]any{"name": t.Name, "shape": values(t.Shape), "values": entries, "ids": g.IsIds(ids[i]), "strings": nil, "columns": nil}
		if t.Strings != nil {
			of["strings"] = values(t.Strings)
		}
		if t.Columns != nil {
			of["columns"] = values(t.Columns)
		}
		out = append(out, of)
	}
	return out
}

// values converts a list of strings or numbers to the type that syscall/js makes an array of.
func values[T any](list []T) []any { return seq.Map(list, func(x T) any { return x }) }

func saturations(list []statement.Saturation) []any {
	return seq.Map(list, func(s statement.Saturation) any {
		return map[string]any{"where": s.Where, "count": s.Count, "of": s.Of}
	})
}

// raw is the memory of the numbers v, at least one. WebAssembly stores numbers in the same byte order as
// JavaScript's typed arrays.
func raw(v []float64) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 8*len(v)) }

// bytesOf is a Uint8Array with the memory of a typed array.
func bytesOf(array js.Value) js.Value {
	return js.Global().Get("Uint8Array").New(array.Get("buffer"), array.Get("byteOffset"), array.Get("byteLength"))
}
