package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/hf/weights"
	"github.com/prove-model/prove-model/internal/refuse"
)

// The file of every type holds, beside each tensor, what the reference library
// decodes it to.
func TestTypes(t *testing.T) {
	f, err := Open("testdata/types.gguf")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, name := range f.Names() {
		want := f.Get(name + ".expected")
		if want == nil {
			continue
		}
		compared++
		x := f.Get(name)
		got, err := x.Floats()
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := want.Floats()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Shape, want.Shape) || !slices.EqualFunc(got, wanted, sameBits) {
			t.Errorf("%s: shapes %v and %v, numbers differ", name, x.Shape, want.Shape)
		}
		row := make([]float32, x.Shape[1])
		x.Read(row, len(row))
		if !slices.EqualFunc(row, wanted[len(row):2*len(row)], sameBits) {
			t.Errorf("%s: the second row differs", name)
		}
	}
	if compared != 24 {
		t.Errorf("%d types compared", compared)
	}
	if v, err := ints(f.Get("I32")); err != nil || !slices.Equal(v, []int64{-1, 2, 1 << 30}) {
		t.Error(v, err)
	}
	for key, want := range map[string]any{
		"a.uint8": int64(200), "a.int32": int64(-7), "a.float32": 0.5, "a.bool": true, "a.string": "naïve", "a.uint64": int64(1 << 40),
	} {
		if f.Meta[key] != want {
			t.Errorf("%s: %v", key, f.Meta[key])
		}
	}
	if !slices.Equal(f.Meta["a.strings"].([]string), []string{"x", "", "yz"}) ||
		!slices.Equal(f.Meta["a.numbers"].([]int64), []int64{1, -2, 3}) ||
		!slices.Equal(f.Meta["a.floats"].([]float64), []float64{0.25, -1.5}) {
		t.Error(f.Meta)
	}
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// builder writes files as the tests want them.
type builder struct{ b []byte }

func (w *builder) u32(v uint32) *builder {
	w.b = binary.LittleEndian.AppendUint32(w.b, v)
	return w
}

func (w *builder) u64(v uint64) *builder {
	w.b = binary.LittleEndian.AppendUint64(w.b, v)
	return w
}

func (w *builder) text(s string) *builder {
	w.u64(uint64(len(s)))
	w.b = append(w.b, s...)
	return w
}

func header(version uint32, tensors, pairs uint64) *builder {
	w := &builder{[]byte("GGUF")}
	return w.u32(version).u64(tensors).u64(pairs)
}

// tensor describes one of one axis.
func (w *builder) tensor(name string, n uint64, kind uint32, offset uint64) *builder {
	return w.text(name).u32(1).u64(n).u32(kind).u64(offset)
}

// data pads to the alignment and adds n bytes.
func (w *builder) data(n int) []byte {
	for len(w.b)%32 > 0 {
		w.b = append(w.b, 0)
	}
	return append(w.b, make([]byte, n)...)
}

func TestRefused(t *testing.T) {
	if _, err := Parse(header(3, 1, 0).tensor("x", 2, 0, 0).data(8)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":       {nil, "not a GGUF file"},
		"version 1":     {header(1, 0, 0).b, "version 1"},
		"big-endian":    {header(3<<24, 0, 0).b, "big-endian"},
		"many tensors":  {header(3, 1<<60, 0).b, "cannot be in"},
		"many pairs":    {header(3, 0, 1<<60).b, "cannot be in"},
		"long key":      {header(3, 0, 1).u64(1 << 50).data(32), "bytes where"},
		"long string":   {header(3, 0, 1).text("k").u32(kindString).u64(1 << 50).data(32), "cut"},
		"long array":    {header(3, 0, 1).text("k").u32(kindArray).u32(kindUint64).u64(1 << 61).data(32), "cannot be in"},
		"array type":    {header(3, 0, 1).text("k").u32(kindArray).u32(77).u64(1).data(32), "unknown type"},
		"type":          {header(3, 0, 1).text("k").u32(77).data(32), "unknown type"},
		"deep":          {header(3, 0, 1).text("k").u32(9).u32(9).u64(1).u32(9).u64(1).u32(9).u64(1).u32(9).u64(1).u32(9).u64(1).data(64), "too deep"},
		"key twice":     {header(3, 0, 2).text("k").u32(kindUint32).u32(0).text("k").u32(kindUint32).u32(0).data(0), "twice"},
		"alignment":     {header(3, 0, 1).text("general.alignment").u32(kindUint32).u32(24).data(0), "power of two"},
		"cut":           {header(3, 1, 0).tensor("x", 2, 0, 0).b[:40], "cut"},
		"axes":          {header(3, 1, 0).text("x").u32(5).data(64), "more than 4"},
		"dimension":     {header(3, 1, 0).tensor("x", 1<<40, 0, 0).data(0), "too large"},
		"number":        {header(3, 1, 0).tensor("x", 1, 99, 0).data(4), "number 99"},
		"blocks":        {header(3, 1, 0).tensor("x", 33, 8, 0).data(68), "divide into blocks"},
		"unaligned":     {header(3, 1, 0).tensor("x", 1, 0, 4).data(8), "aligned"},
		"beyond":        {header(3, 1, 0).tensor("x", 2, 0, 0).data(7), "beyond"},
		"far beyond":    {header(3, 1, 0).tensor("x", 2, 0, 1<<63).data(8), "beyond"},
		"overlap":       {header(3, 2, 0).tensor("x", 16, 0, 0).tensor("y", 2, 0, 32).data(64), "overlaps"},
		"same tensor":   {header(3, 2, 0).tensor("x", 2, 0, 0).tensor("x", 2, 0, 32).data(40), "two tensors"},
		"beyond 63 bit": {header(3, 0, 1).text("k").u32(kindUint64).u64(1 << 63).data(0), "63 bits"},
	} {
		if _, err := Parse(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	types, err := os.ReadFile("testdata/types.gguf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(types)
	f.Add(header(3, 1, 0).tensor("x", 2, 0, 0).data(8))
	f.Add(header(2, 2, 1).text("k").u32(kindArray).u32(kindString).u64(1).text("v").tensor("x", 32, 8, 0).tensor("y", 256, 12, 64).data(256))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			x := file.Get(name)
			if x.Whole != nil {
				if v, err := ints(x); err != nil || len(v) != x.Len() {
					t.Errorf("%d numbers of shape %v: %v", len(v), x.Shape, err)
				}
			} else if v, err := x.Floats(); err == nil && len(v) != x.Len() {
				t.Errorf("%d numbers of shape %v", len(v), x.Shape)
			}
		}
	})
}

// ints returns the numbers of an integer type.
func ints(t *weights.Tensor) ([]int64, error) {
	if t.Whole == nil {
		return nil, fmt.Errorf("a tensor of type %s", t.Type)
	}
	out := make([]int64, t.Len())
	for i := range out {
		out[i] = t.Whole(t.Raw[i*t.Bytes:])
	}
	return out, nil
}

// Parse reads a file in memory, which the tensors point into.
func Parse(data []byte) (*File, error) {
	return refuse.Result(func() *File { return parse(data, nil) })
}
