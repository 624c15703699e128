package vocabulary

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// example maps two columns: one is cut into tokens, of which n-grams are counted, the other is encoded.
func example() *Vocabulary {
	return &Vocabulary{
		Inputs: []Input{{Name: "text", Strings: true, Shape: []int{0, 1}}, {Name: "colour", Strings: true, Shape: []int{0}}, {Name: "price", Shape: []int{0}}},
		Steps: []Step{
			{In: []string{"text"}, Out: []string{"flat"}, Reshape: &Reshape{[]int{-1}}},
			{In: []string{"flat"}, Out: []string{"lower"}, Normalise: &Normalise{Case: "LOWER"}},
			{In: []string{"lower"}, Out: []string{"tokens"}, Tokenise: &Tokenise{Expression: "[a-z]+", Least: 2, Pad: "#"}},
			{In: []string{"tokens"}, Out: []string{"counts"}, Count: &Count{Least: 1, Most: 2, Pool: []string{"red", "car", "red", "car"}, Starts: []int{0, 2}, Index: []int{0, 1, 2}}},
			{In: []string{"colour"}, Out: []string{"hot"}, OneHot: &OneHot{Categories: []string{"red", "blue"}}},
			{In: []string{"colour"}, Out: []string{"name"}, Replace: &Replace{Keys: []string{"red"}, Strings: []string{"R"}, DefaultString: "?"}},
			{In: []string{"name"}, Out: []string{"number"}, Replace: &Replace{Keys: []string{"R", "?"}, Numbers: []float64{3, 4}, Default: 5}},
		},
		Results: []string{"counts", "hot", "number"},
		Outputs: []Output{{Name: "label", Labels: []string{"no", "yes"}}},
	}
}

func TestMap(t *testing.T) {
	v := example()
	file, err := v.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if v, err = ParseFile(file); err != nil {
		t.Fatal(err)
	}
	again, err := v.Encode()
	if err != nil || !bytes.Equal(again, file) || Digest(again) != Digest(file) {
		t.Errorf("encoded again: %s, %v", again, err)
	}
	out, err := v.Map([]Array{
		{Name: "text", Shape: []int{2, 1}, Strings: []string{"A Red car, red CAR!", "a b c"}},
		{Name: "colour", Shape: []int{2}, Strings: []string{"blue", "red"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Array{
		{Name: "counts", Shape: []int{2, 3}, Numbers: []float64{2, 2, 2, 0, 0, 0}},
		{Name: "hot", Shape: []int{2, 2}, Numbers: []float64{0, 1, 1, 0}},
		{Name: "number", Shape: []int{2}, Numbers: []float64{4, 3}},
	}
	if !reflect.DeepEqual(out, want) {
		t.Errorf("%v, not %v", out, want)
	}
	if names := v.Output("label").Names([]float64{1, 0, 7}); !slices.Equal(names, []string{"yes", "no", "7"}) {
		t.Errorf("labels %v", names)
	}
	for _, wrong := range [][]Array{
		{{Name: "text", Shape: []int{1, 1}, Strings: []string{"a"}}},                                                                // one is missing
		{{Name: "text", Shape: []int{1}, Strings: []string{"a"}}, {Name: "colour", Shape: []int{1}, Strings: []string{"a"}}},        // another rank
		{{Name: "text", Shape: []int{1, 2}, Strings: []string{"a", "b"}}, {Name: "colour", Shape: []int{1}, Strings: []string{""}}}, // two columns
		{{Name: "text", Shape: []int{2, 1}, Strings: []string{"a"}}, {Name: "colour", Shape: []int{1}, Strings: []string{""}}},      // fewer strings than the shape says
	} {
		if out, err := v.Map(wrong, nil); err == nil {
			t.Errorf("%v gives %v", wrong, out)
		}
	}
}

// TestHostile: files that are small and would take much are refused, before they do.
func TestHostile(t *testing.T) {
	join := &Vocabulary{Inputs: []Input{{Name: "x0", Strings: true, Shape: []int{0}}}, Results: []string{"y"}}
	name := func(i int) string { return "x" + strings.Repeat("i", i) }
	join.Inputs[0].Name = name(0)
	for i := range 60 {
		join.Steps = append(join.Steps, Step{In: []string{name(i), name(i)}, Out: []string{name(i + 1)}, Join: &Join{}})
	}
	join.Steps = append(join.Steps, Step{In: []string{name(60)}, Out: []string{"y"}, Parse: &Parse{}})
	wide := &Vocabulary{Inputs: join.Inputs, Results: []string{"y"}, Steps: []Step{
		{In: []string{"x"}, Out: []string{"y"}, Count: &Count{Least: 1, Most: 1, Pool: []string{"a"}, Starts: []int{0}, Index: []int{1<<22 - 1}}},
	}}
	for i := range 20 {
		s := wide.Steps[0]
		s.Out = []string{name(i + 1)}
		wide.Steps = append(wide.Steps, s)
	}
	many := &Vocabulary{Inputs: join.Inputs, Results: []string{"y"}, Steps: []Step{
		{In: []string{"x"}, Out: []string{"u"}, Gather: &Gather{Index: make([]int, 1<<15), Shape: []int{1 << 15}}},
		{In: []string{"u"}, Out: []string{"v"}, Unsqueeze: &Unsqueeze{[]int{1}}},
		{In: []string{"u", "v"}, Out: []string{"y"}, Equal: &Equal{}},
	}}
	for i, v := range []*Vocabulary{join, wide, many} {
		if _, err := v.Encode(); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Map([]Array{{Name: "x", Shape: []int{1}, Strings: []string{"ab"}}}, nil); !errors.Is(err, errBudget) {
			t.Errorf("%d: %v", i, err)
		}
	}
	for _, change := range []func(v *Vocabulary){
		func(v *Vocabulary) { v.Steps[0].Flatten = &Flatten{} },
		func(v *Vocabulary) { v.Steps[0].In[0] = "counts" },
		func(v *Vocabulary) { v.Steps[1].Out[0] = "text" },
		func(v *Vocabulary) { v.Steps[2].Tokenise.Expression = "[a-z]*" },
		func(v *Vocabulary) { v.Steps[2].Tokenise.Expression = "(" },
		func(v *Vocabulary) { v.Steps[3].Count.Index[0] = -1 },
		func(v *Vocabulary) { v.Steps[3].Count.Starts[1] = 3 },
		func(v *Vocabulary) { v.Steps[6].Replace.Numbers = v.Steps[6].Replace.Numbers[:1] },
		func(v *Vocabulary) { v.Results[0] = "nothing" },
		func(v *Vocabulary) { v.Results[1] = v.Results[0] },
		func(v *Vocabulary) { v.Outputs[0].Labels = nil },
	} {
		v := example()
		change(v)
		if _, err := v.Encode(); err == nil {
			t.Errorf("no error: %+v", v)
		}
	}
}

// FuzzVocabulary: whatever a file says, it is refused or maps strings or fails, within bounds, and what it maps are the results.
func FuzzVocabulary(f *testing.F) {
	file, err := example().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file, "a red car", "blue")
	f.Add(bytes.Replace(file, []byte(`"shape":[-1]`), []byte(`"shape":[1,0]`), 1), "", "")
	f.Add([]byte(Begins+`"version":1,"inputs":[{"name":"text","strings":true,"shape":[0,1]}],"steps":[{"in":["text"],"out":["p","n"],"split":{"most":1}}],"results":["n"]}`), "a b", "")
	f.Fuzz(func(t *testing.T, file []byte, text, colour string) {
		v, err := ParseFile(file)
		if err != nil {
			return
		}
		if again, err := v.Encode(); err != nil {
			t.Fatalf("it was read, and cannot be written: %v", err)
		} else if _, err := ParseFile(again); err != nil {
			t.Fatalf("it was written, and cannot be read: %v", err)
		}
		out, err := v.Map([]Array{
			{Name: "text", Shape: []int{2, 1}, Strings: []string{text, colour}}, {Name: "colour", Shape: []int{2}, Strings: []string{colour, text}},
		}, nil)
		if err != nil {
			return
		}
		for i, a := range out {
			if size(a.Shape) != len(a.Numbers) || a.Name != v.Results[i] {
				t.Fatalf("%v", a)
			}
		}
	})
}

// TestDecode: a picture is what the decoder that is given makes of a file; one of another size, several files, no decoder, and
// shapes that are no picture's are refused.
// TestNothingOfMany: what moves no strings takes no time, however long the axes are beside one of length 0.
func TestNothingOfMany(t *testing.T) {
	shape := []int{maxNumbers, 0}
	nothing := Step{In: []string{}, Out: []string{"x"}, Constant: &Constant{Shape: shape, Strings: []string{}}}
	equal := Step{In: []string{"y", "y"}, Out: []string{"z"}, Equal: &Equal{}}
	for name, move := range map[string]Step{
		"Concat":    {In: slices.Repeat([]string{"x"}, 1<<18), Concat: &Concat{Axis: 1}},
		"Gather":    {In: []string{"x"}, Gather: &Gather{Axis: 0, Index: make([]int, 1<<18), Shape: []int{1 << 18}}},
		"Transpose": {In: []string{"x"}, Transpose: &Transpose{Order: []int{0, 1}}},
	} {
		move.Out = []string{"y"}
		v := &Vocabulary{Steps: []Step{nothing, move, equal}, Results: []string{"z"}}
		if out, err := v.Map(nil, nil); err != nil || len(out) != 1 || len(out[0].Numbers) != 0 {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
}

func TestDecode(t *testing.T) {
	with := func(o Decode) *Vocabulary {
		return &Vocabulary{Inputs: []Input{{Name: "file", File: true, Shape: []int{}}}, Steps: []Step{{In: []string{"file"}, Out: []string{"pixels"}, Decode: &o}}, Results: []string{"pixels"}}
	}
	grey := func(file []byte, order string) (height, width int, pixels []byte, err error) {
		return 1, len(file), file, nil
	}
	file := func(contents ...string) []Array { return []Array{{Name: "file", Shape: []int{}, Strings: contents}} }
	v := with(Decode{"Grayscale", []int{1, 2, 1}})
	data, err := v.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if v, err = ParseFile(data); err != nil || !v.Takes() || !v.Files() {
		t.Fatalf("%s: %v", data, err)
	}
	out, err := v.Map(file("\x00\xff"), grey)
	if err != nil || !slices.Equal(out[0].Numbers, []float64{0, 255}) || !slices.Equal(out[0].Shape, []int{1, 2, 1}) {
		t.Errorf("%v, %v", out, err)
	}
	for name, err := range map[string]error{
		"another size": second(v.Map(file("abc"), grey)), "two files": second(v.Map(file("ab", "cd"), grey)), "no decoder": second(v.Map(file("ab"), nil)), "none": second(v.Map(nil, grey)),
	} {
		if err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
	strings := with(Decode{"Grayscale", []int{1, 2, 1}})
	strings.Inputs[0].Strings = true
	for name, v := range map[string]*Vocabulary{
		"an order": with(Decode{"CMYK", []int{1, 1, 4}}), "channels": with(Decode{"RGB", []int{1, 1, 1}}), "no pixels": with(Decode{"RGB", []int{0, 1, 3}}),
		"too many": with(Decode{"RGB", []int{1 << 40, 1 << 40, 3}}), "strings and a file": strings,
	} {
		if _, err := v.Encode(); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

func second(_ []Array, err error) error { return err }
