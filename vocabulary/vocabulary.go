// Package vocabulary says how the strings that a model takes become numbers, and which names its
// outputs stand for. None of that is part of a proof, which is about the numbers. A key has the
// digest of the vocabulary ([Digest]). Whoever has the strings and a vocabulary with that digest
// can map them again ([Vocabulary.Map]), and compare the result with the numbers of the proof.
//
// The package needs no model reader and no prover, so that verifiers can use it.
package vocabulary

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// Vocabulary is the part of a model that is about strings.
type Vocabulary struct {
	// Inputs are the model's inputs in order, if it takes strings or files. The list is empty if
	// only outputs stand for names.
	Inputs []Input `json:"inputs,omitempty"`
	// Steps map the inputs that are strings or files. They run in order; each reads such inputs, or
	// results of earlier steps.
	Steps []Step `json:"steps,omitempty"`
	// Results names the values of steps that are inputs of the proof. They are numbers.
	Results []string `json:"results,omitempty"`
	// Outputs are the outputs of the proof whose numbers or columns have names.
	Outputs []Output `json:"outputs,omitempty"`
}

// Input is an input of the model.
type Input struct {
	Name    string `json:"name"`
	Strings bool   `json:"strings,omitempty"` // it takes strings; if neither this nor File is set, numbers, unmapped
	File    bool   `json:"file,omitempty"`    // it takes the bytes of a file, as one string; Shape is []
	Shape   []int  `json:"shape"`             // 0 for an axis of any length
}

// Output says what the numbers of an output of the proof stand for. Exactly one of the lists
// is set.
type Output struct {
	Name string `json:"name"`
	// Labels are strings; the output's numbers are indices into them, from 0 on.
	Labels []string `json:"labels,omitempty"`
	// Columns are the names of the entries along the output's last axis.
	Columns []string `json:"columns,omitempty"`
}

// Step is one operation on strings: exactly one of the pointers is set.
type Step struct {
	In  []string `json:"in"`  // names of its operands
	Out []string `json:"out"` // names of its results; "" for one that nothing reads

	Constant  *Constant  `json:"constant,omitempty"`
	Normalise *Normalise `json:"normalise,omitempty"`
	Tokenise  *Tokenise  `json:"tokenise,omitempty"`
	Count     *Count     `json:"count,omitempty"`
	Replace   *Replace   `json:"replace,omitempty"`
	OneHot    *OneHot    `json:"one_hot,omitempty"`
	Parse     *Parse     `json:"parse,omitempty"`
	Join      *Join      `json:"join,omitempty"`
	Split     *Split     `json:"split,omitempty"`
	Match     *Match     `json:"match,omitempty"`
	Equal     *Equal     `json:"equal,omitempty"`
	Decode    *Decode    `json:"decode,omitempty"`

	Reshape   *Reshape   `json:"reshape,omitempty"`
	Flatten   *Flatten   `json:"flatten,omitempty"`
	Squeeze   *Squeeze   `json:"squeeze,omitempty"`
	Unsqueeze *Unsqueeze `json:"unsqueeze,omitempty"`
	Transpose *Transpose `json:"transpose,omitempty"`
	Gather    *Gather    `json:"gather,omitempty"`
	Concat    *Concat    `json:"concat,omitempty"`
}

// operation is what a step does. It refuses (package refuse) what it cannot do. An operation with attributes also has a
// method check, which refuses attributes that mean nothing.
type operation interface {
	// shapes returns the shapes of the results, from those of the operands. The length of an axis is Unknown
	// if it depends on the strings.
	shapes(in [][]Dim) [][]Dim
	// run computes the results, and takes what they need from the budget. shape is that of the first
	// result, with −1 for Unknown.
	run(in []Array, shape []int, b *budget) []Array
}

// operation returns the one operation that is set, and refuses a step that has not the right
// numbers of operands and results for it.
func (s *Step) operation() operation {
	var found operation
	n := 0
	for _, field := range reflect.ValueOf(s).Elem().Fields() {
		if o, is := field.Interface().(operation); is && !field.IsNil() {
			found, n = o, n+1
		}
	}
	refuse.If(n != 1, "%d operations in one step", n)
	if o, is := found.(interface{ check() }); is {
		o.check()
	}
	in, out := 1, 1
	switch found.(type) {
	case *Constant:
		in = 0
	case *Join, *Equal:
		in = 2
	case *Concat:
		in = max(len(s.In), 1)
	case *Split:
		out = 2
	}
	refuse.If(len(s.In) != in || len(s.Out) != out,
		"%d operands and %d results, not %d and %d", len(s.In), len(s.Out), in, out)
	return found
}

const (
	// Begins is the text with which every file of a vocabulary begins.
	Begins = `{"format":"prove-model vocabulary",`
	// MaxSize is the largest size of a file of a vocabulary, in bytes.
	MaxSize = 64 << 20
	// digestPrefix separates digests of vocabularies from other uses of SHA-256.
	digestPrefix = "prove-model vocabulary\n"

	maxSteps   = 1 << 12
	maxEntries = 1 << 16 // of each of Inputs, Results and Outputs
	maxRank    = 8
)

// file is the JSON of a file of a vocabulary.
type file struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	*Vocabulary
}

// about returns the error with which f refuses a vocabulary.
func about(f func()) error {
	return refuse.Caught(func() { refuse.Within("vocabulary", f) })
}

// Encode returns the file of a vocabulary. Equal vocabularies give equal bytes.
func (v *Vocabulary) Encode() (b []byte, err error) {
	err = about(func() {
		v.check()
		b = must.Get(json.Marshal(file{"prove-model vocabulary", 1, v}))
		refuse.If(len(b) > MaxSize, "%d bytes, at most %d", len(b), MaxSize)
	})
	return b, err
}

// Digest returns the digest of a vocabulary's file: SHA-256 of the ASCII text "prove-model
// vocabulary", a line feed, and the file.
func Digest(file []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(digestPrefix))
	h.Write(file)
	return [sha256.Size]byte(h.Sum(nil))
}

// ParseFile reads the file of a vocabulary.
func ParseFile(data []byte) (v *Vocabulary, err error) {
	err = about(func() {
		refuse.If(len(data) > MaxSize, "more than %d bytes", MaxSize)
		refuse.If(!bytes.HasPrefix(data, []byte(Begins)), "not a file of prove-model")
		refuse.If(!utf8.Valid(data), "not UTF-8")
		f := file{Vocabulary: &Vocabulary{}}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		must.OK(dec.Decode(&f))
		_, more := dec.Token()
		refuse.If(more != io.EOF, "something follows it")
		refuse.If(f.Version != 1, "version %d; this program reads 1", f.Version)
		f.Vocabulary.check()
		v = f.Vocabulary
	})
	return v, err
}

// possible says whether the rank, shape and kind of an input are valid.
func (in *Input) possible() bool {
	beyond := func(n int) bool { return n < 0 || n > maxNumbers }
	return len(in.Shape) <= maxRank && !slices.ContainsFunc(in.Shape, beyond) && !(in.File && (in.Strings || len(in.Shape) > 0))
}

// check refuses a vocabulary that could not map any strings: one with invalid steps,
// unknown names, or names that are defined twice.
func (v *Vocabulary) check() {
	refuse.If(len(v.Steps) > maxSteps || max(len(v.Inputs), len(v.Results), len(v.Outputs)) > maxEntries,
		"too many steps, inputs, results or outputs")
	known := map[string]bool{}
	for _, in := range v.Inputs {
		refuse.If(known[in.Name] || !in.possible(), "input %s", quote.Name(in.Name))
		known[in.Name] = true
	}
	for i := range v.Steps {
		s := &v.Steps[i]
		refuse.Within(fmt.Sprintf("step %d", i), func() { s.operation() })
		for _, name := range s.In {
			refuse.If(!known[name], "step %d reads %s, which nothing before it gives", i, quote.Name(name))
		}
		for _, name := range s.Out {
			refuse.If(name != "" && known[name], "step %d gives %s, which is there already", i, quote.Name(name))
			known[name] = true
		}
	}
	for i, name := range v.Results {
		refuse.If(!known[name] || slices.Contains(v.Results[:i], name), "result %s", quote.Name(name))
	}
	for _, out := range v.Outputs {
		refuse.If((out.Labels == nil) == (out.Columns == nil), "output %s", quote.Name(out.Name))
	}
}

// Output returns what the vocabulary says about an output; nil if it says nothing.
func (v *Vocabulary) Output(name string) *Output {
	if v == nil {
		return nil
	}
	at := slices.IndexFunc(v.Outputs, func(o Output) bool { return o.Name == name })
	if at < 0 {
		return nil
	}
	return &v.Outputs[at]
}

// Names returns the labels that numbers of an output stand for; nil if the output has no labels. A
// number that is not the index of a label is returned as decimal text.
func (o *Output) Names(values []float64) []string {
	if o == nil || o.Labels == nil {
		return nil
	}
	names := make([]string, len(values))
	for i, x := range values {
		if at := int(x); float64(at) == x && at >= 0 && at < len(o.Labels) {
			names[i] = o.Labels[at]
		} else {
			names[i] = fmt.Sprint(x)
		}
	}
	return names
}

// Files says whether the model takes files, and no strings.
func (v *Vocabulary) Files() bool {
	return v.Takes() && !slices.ContainsFunc(v.Inputs, func(in Input) bool { return in.Strings })
}

// Takes says whether the model takes strings or files.
func (v *Vocabulary) Takes() bool { return v != nil && len(v.Results) > 0 }
