package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/hf/weights"
)

// The file of every type holds, beside each tensor, what the reference library
// decodes it to.
func TestTypes(t *testing.T) {
	set, err := Open("testdata/types.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, name := range set.Names() {
		want := set.Get(name + ".expected")
		if want == nil {
			continue
		}
		compared++
		x := set.Get(name)
		got, err := x.Floats()
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := want.Floats()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x.Shape, want.Shape) || !slices.EqualFunc(got, wanted, sameBits) {
			t.Errorf("%s: %v %v, want %v %v", name, x.Shape, got, want.Shape, wanted)
		}
		part := make([]float32, 5)
		x.Read(part, 3)
		if !slices.EqualFunc(part, wanted[3:8], sameBits) {
			t.Errorf("%s from 3 on: %v, want %v", name, part, wanted[3:8])
		}
	}
	if compared != 8 {
		t.Errorf("%d types compared", compared)
	}
	for name, want := range map[string][]int64{
		"int8": {-128, 0, 1, 5, 127}, "uint8": {0, 0, 1, 5, 255}, "int16": {-32768, 0, 1, 5, 32767}, "uint16": {0, 0, 1, 5, 65535},
		"int32": {math.MinInt32, 0, 1, 5, math.MaxInt32}, "uint32": {0, 0, 1, 5, math.MaxUint32},
		"int64": {math.MinInt64, 0, 1, 5, math.MaxInt64}, "uint64": {0, 0, 1, 5, math.MaxInt64}, "bool": {1, 0, 1},
	} {
		if got, err := ints(set.Get(name)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if _, err := set.Get(name).Floats(); err == nil {
			t.Errorf("%s gives floats", name)
		}
	}
	if x, err := set.Get("scalar").Floats(); err != nil || len(x) != 1 || x[0] != 2.5 || len(set.Get("scalar").Shape) != 0 {
		t.Error("scalar:", x, err)
	}
	if x, err := set.Get("empty").Floats(); err != nil || len(x) != 0 {
		t.Error("empty:", x, err)
	}
	if set.Get("nothing") != nil {
		t.Error("a tensor that is not there")
	}
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func TestIndex(t *testing.T) {
	set, err := OpenIndex("testdata/model.safetensors.index.json")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"BF16", "F32", "int64"}; !slices.Equal(set.Names(), want) || len(set.Files()) != 2 {
		t.Errorf("%v of %d files", set.Names(), len(set.Files()))
	}
	one, err := Open("testdata/types.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := set.Get("BF16").Floats()
	want, _ := one.Get("BF16").Floats()
	if len(got) == 0 || !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestIndexRefuses(t *testing.T) {
	a := file(`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1)
	b := file(`{"y":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2)
	for name, c := range map[string]struct{ index, want string }{
		"outside":   {`{"weight_map":{"x":"../a"}}`, "not a file beside"},
		"absolute":  {`{"weight_map":{"x":"/etc/passwd"}}`, "not a file beside"},
		"no shard":  {`{"weight_map":{"x":"c"}}`, "all shards"},
		"no tensor": {`{"weight_map":{"x":"a","z":"a"}}`, "does not have"},
		"twice":     {`{"weight_map":{"x":"a","y":"b"}}`, "which the index has in"},
		"empty":     {`{}`, "weight_map"},
		"no JSON":   {`[`, "JSON"},
	} {
		dir := t.TempDir()
		for file, data := range map[string][]byte{"a": a, "b": b, "i.json": []byte(c.index)} {
			if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := OpenIndex(filepath.Join(dir, "i.json")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// file is a file of that header with n bytes of data.
func file(header string, n int) []byte {
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), make([]byte, n))
}

func TestRefused(t *testing.T) {
	entry := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"x":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	two := func(a, b string) string {
		return fmt.Sprintf(`{"x":{"dtype":"U8","shape":[2],"data_offsets":%s},"y":{"dtype":"U8","shape":[2],"data_offsets":%s}}`, a, b)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":          {nil, "eight bytes"},
		"long header":      {[]byte{0, 0, 0, 0, 1, 0, 0, 0, '{', '}'}, "more than 100000000"},
		"cut header":       {[]byte{9, 0, 0, 0, 0, 0, 0, 0, '{', '}'}, "cut"},
		"a list":           {file(`[]`, 0), "not a JSON object"},
		"no JSON":          {file(`{"x"`, 0), "JSON"},
		"two objects":      {file(`{}{}`, 0), "goes on"},
		"same name":        {file(`{"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), "twice"},
		"same field":       {file(`{"x":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), "twice"},
		"same metadata":    {file(`{"__metadata__":{"a":"b","a":"b"}}`, 0), "twice"},
		"metadata number":  {file(`{"__metadata__":{"a":1}}`, 0), "string"},
		"no shape":         {file(`{"x":{"dtype":"U8","data_offsets":[0,0]}}`, 0), "not all there"},
		"other field":      {file(`{"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"a":1}}`, 0), "not of the format"},
		"type":             {file(entry("F4", "[2]", "[0,1]"), 1), "not one that is read"},
		"negative":         {file(entry("U8", "[-1]", "[0,1]"), 1), "no size"},
		"fraction":         {file(entry("U8", "[1.5]", "[0,1]"), 1), "no size"},
		"overflow":         {file(entry("U8", "[4294967296,4294967296]", "[0,0]"), 0), "too large"},
		"hidden overflow":  {file(entry("U8", "[4294967296,4294967296,0]", "[0,0]"), 0), "too large"},
		"many axes":        {file(entry("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), 1), "more than 16"},
		"wrong size":       {file(entry("F32", "[1]", "[0,3]"), 3), "takes 4"},
		"backwards":        {file(entry("U8", "[1]", "[1,0]"), 1), "takes 1"},
		"three offsets":    {file(entry("U8", "[1]", "[0,1,2]"), 1), "more than 2"},
		"overlap":          {file(two("[0,2]", "[1,3]"), 3), "overlap"},
		"same bytes":       {file(two("[0,2]", "[0,2]"), 2), "overlap"},
		"gap":              {file(two("[0,2]", "[3,5]"), 5), "gap"},
		"gap at the start": {file(entry("U8", "[1]", "[1,2]"), 2), "gap"},
		"beyond":           {file(entry("U8", "[2]", "[0,2]"), 1), "cut"},
		"more":             {file(entry("U8", "[1]", "[0,1]"), 2), "cut"},
		"bool":             {append(file(entry("BOOL", "[1]", "[0,1]"), 0), 2), "BOOL"},
	} {
		if _, err := Parse(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNotFinite(t *testing.T) {
	for bits, want := range map[uint32]string{0x7fc00000: "NaN", 0x7f800000: "+Inf", 0xff800000: "-Inf"} {
		data := file(`{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}`, 12)
		binary.LittleEndian.PutUint32(data[len(data)-4:], bits)
		set, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := set.Get("x").Floats(); err == nil || !strings.Contains(err.Error(), "element 2 is "+want) {
			t.Error(err)
		}
	}
}

// A header that claims much costs little.
func TestHostileAllocations(t *testing.T) {
	data := file(`{"x":{"dtype":"F32","shape":[17179869184],"data_offsets":[0,68719476736]}}`, 0)
	if n := testing.AllocsPerRun(10, func() {
		if _, err := Parse(data); err == nil {
			t.Fatal("accepted")
		}
	}); n > 200 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file(`{"__metadata__":{"a":"b"},"x":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]}}`, 4))
	f.Add(file(`{"x":{"dtype":"F8_E4M3","shape":[],"data_offsets":[0,1]},"y":{"dtype":"I64","shape":[1],"data_offsets":[1,9]}}   `, 9))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Parse(data)
		if err != nil {
			return
		}
		total := 0
		for _, name := range set.Names() {
			x := set.Get(name)
			total += len(x.Raw)
			if x.Whole == nil {
				if v, err := x.Floats(); err == nil && len(v) != x.Len() {
					t.Errorf("%d numbers of shape %v", len(v), x.Shape)
				}
			} else if v, err := ints(x); err != nil || len(v) != x.Len() {
				t.Errorf("%d numbers of shape %v: %v", len(v), x.Shape, err)
			}
		}
		if total > len(data) {
			t.Errorf("%d bytes of tensors in %d", total, len(data))
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
