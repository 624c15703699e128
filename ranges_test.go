package provemodel

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/graph"
)

// The ranges of a circuit give the circuit again, whose key is the same, with no
// sample run; options that the ranges do not depend on may differ.
func TestFromRanges(t *testing.T) {
	c, in := commit(t)
	ranges, err := ReadRanges(bytes.NewReader(c.Circuit().Ranges().File()))
	if err != nil {
		t.Fatal(err)
	}
	m, _, samples := open(t)
	circuit, err := Quantise(t.Context(), m, nil, quantiseWith(withFromRanges(ranges)))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Commit(t.Context(), circuit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.Commitment() != c.Commitment() || circuit.Report().Float != nil {
		t.Errorf("commitment %s, want %s; float outputs %v", again.Commitment(), c.Commitment(), circuit.Report().Float)
	}
	run, err := circuit.Run(t.Context(), in)
	if err != nil || len(run.Outputs) != 1 {
		t.Errorf("%+v, %v", run, err)
	}
	for _, opts := range [][]with{quick, {withHeadroom(3)}} {
		a, err := Quantise(t.Context(), m, samples, quantiseWith(opts...))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Quantise(t.Context(), m, nil, quantiseWith(append(opts, withFromRanges(a.Ranges()))...))
		if err != nil || !a.source.Equal(b.source) || !bytes.Equal(a.Ranges().File(), b.Ranges().File()) {
			t.Errorf("%v: another circuit", err)
		}
	}
	bad := append(Ranges(nil), ranges...)
	bad[2].Min, bad[2].Max = bad[2].Max, bad[2].Min
	for name, r := range map[string]Ranges{"none": nil, "fewer": ranges[1:], "reversed": bad} {
		if _, err := Quantise(t.Context(), m, nil, quantiseWith(withFromRanges(r))); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// What made up samples gave is not kept; what real ones gave is.
func TestProvisional(t *testing.T) {
	m, _, samples := open(t)
	opts := []with{withCache(t.TempDir()), withKeepRanges()}
	quantise := func(in Input, more ...with) *Circuit {
		t.Helper()
		c, err := Quantise(context.Background(), m, []Input{in}, quantiseWith(append(opts, more...)...))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	made := quantise(m.Random(1), withProvisional())
	first := quantise(samples[0])
	if first.Report().Cached || bytes.Equal(first.Ranges().File(), made.Ranges().File()) {
		t.Error("the ranges of a random input were kept")
	}
	later := quantise(m.Random(1), withProvisional())
	if !later.Report().Cached || !bytes.Equal(later.Ranges().File(), first.Ranges().File()) {
		t.Error("the ranges of the first real input were not kept")
	}
}

// What is read as ranges is what would be written, up to white space.
func FuzzReadRanges(f *testing.F) {
	f.Add([]byte(`{"format":"prove-model ranges 1","ranges":[{"name":"x<","min":0,"max":67043328,"least":0}]}`))
	f.Add(Ranges{}.File())
	f.Add(Ranges{{"é\x00", 201261056, 67043328, 0, 0}, {"y", 0, 67043328, 0, 15}}.File())
	data, err := os.ReadFile("testdata/digits/input.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadRanges(bytes.NewReader(data))
		if err != nil {
			return
		}
		again, err := ReadRanges(bytes.NewReader(r.File()))
		if err != nil || !bytes.Equal(again.File(), r.File()) {
			t.Fatalf("%v: %s", err, r.File())
		}
	})
}

// TestBitsToTheEnd: ranges are rounded outwards, and whole numbers whose bits are taken may still
// be the last that have few enough; those beyond are refused as they were given.
func TestBitsToTheEnd(t *testing.T) {
	b := graph.NewBuilder("bits")
	b.Output("y", b.Bitwise(graph.And, b.Input("x", graph.Int32, []int{4}), b.Input("z", graph.Int32, []int{4})))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	in := Input{{1, -2, 1<<22 - 1, -1 << 22}, {-1, -2, -1 << 22, 1<<22 - 1}}
	c, err := Quantise(t.Context(), NewModel(g), []Input{in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Run(t.Context(), in)
	if err != nil || !slices.Equal(r.Outputs[0].Values, []float64{1, -2, 0, 0}) {
		t.Errorf("%v, %v", r, err)
	}
	in[0][2] = 1 << 22
	if _, err := Quantise(t.Context(), NewModel(g), []Input{in}, nil); err == nil || !strings.Contains(err.Error(), "element 2 is 4194304: bits are taken of integers from -4194304 to 4194303") {
		t.Error(err)
	}
}
