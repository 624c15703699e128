package proof

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// repeated is a key whose circuit is sampleGraph n times over, with tables of the first one. It is
// of the size of a language model's and has all that a key may have.
func repeated(n int) *Key {
	k := sampleKey()
	k.Source = sampleSource()
	g := k.Circuit.Graph
	tensors, steps := slices.Clone(g.Tensors), slices.Clone(g.Steps)
	column := g.Tables[2].Values
	for i := 1; i < n; i++ {
		base := model.TensorID(len(g.Tensors))
		moved := func(id model.TensorID) model.TensorID {
			if id == model.None {
				return id
			}
			return id + base
		}
		sum := func(list []model.Linear) []model.Linear {
			list = slices.Clone(list)
			for j := range list {
				list[j].Src = moved(list[j].Src)
			}
			return list
		}
		for j, t := range tensors {
			if model.TensorID(j) == column {
				t.Kind = model.Witness // a table has one column: this one is the result of a step below
			}
			t.Name, t.Def = fmt.Sprintf("%s.%d", t.Name, i), sum(t.Def)
			g.Tensors = append(g.Tensors, t)
		}
		for _, s := range steps {
			s.Name = fmt.Sprintf("%s.%d", s.Name, i)
			s.Lo, s.Out, s.Den = moved(s.Lo), moved(s.Out), moved(s.Den)
			s.Acc.Linear, s.Acc.Products = sum(s.Acc.Linear), slices.Clone(s.Acc.Products)
			for j := range s.Acc.Products {
				p := &s.Acc.Products[j]
				p.A, p.B = moved(p.A), moved(p.B)
			}
			g.Steps = append(g.Steps, s)
		}
	}
	return k
}

// BenchmarkParseKey reads the bytes of a key of about a megabyte: all that comes before it is
// asked what its circuit means.
func BenchmarkParseKey(b *testing.B) {
	file := encodedUnchecked(b, repeated(1200))
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseKey(file); err != nil {
			b.Fatal(err)
		}
	}
}

// encodedUnchecked is the file of a key whose circuit nobody has validated.
func encodedUnchecked(t testing.TB, k *Key) []byte {
	t.Helper()
	if err := k.encode(nil); err != nil {
		t.Fatal(err)
	}
	return k.Encoded()
}

// BenchmarkEncodeGraph encodes such a key's circuit.
func BenchmarkEncodeKey(b *testing.B) {
	k := repeated(1200)
	b.ReportAllocs()
	for b.Loop() {
		if err := k.encode(nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReader reads a proof of 64 chunks and 16 megabytes.
func BenchmarkReader(b *testing.B) {
	c := sample()
	c.Frames = nil
	for _, f := range due(64) {
		n := 1 << 16
		if f.Kind == plan.Opening {
			n = 12 << 20
		}
		c.Frames = append(c.Frames, frameBytes{frame: f, body: make([]byte, n)})
	}
	var file bytes.Buffer
	if err := write(&file, c); err != nil {
		b.Fatal(err)
	}
	l := limits(64)
	l.Frames[len(l.Frames)-1].Bytes = 12 << 20
	g := graphOf(c)
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := read(bytes.NewReader(file.Bytes()), l, g); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSmallProof reads a proof of a few hundred bytes, most of whose time is the header's.
func BenchmarkSmallProof(b *testing.B) {
	file := sampleFile(b)
	l, g := limits(2), graphOf(sample())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := read(bytes.NewReader(file), Limits{l.Public, l.Tensors, slices.Clone(l.Frames)}, g); err != nil {
			b.Fatal(err)
		}
	}
}
