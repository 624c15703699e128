package provemodel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/web/verdict"
)

// wantOf is what ONNX Runtime makes of an output: numbers, or strings.
type wantOf struct {
	Shape  []int `json:"shape"`
	Values []any `json:"values"`
}

// provedStrings proves the model of onnx/testdata/strings on its input.
func provedStrings(t *testing.T, name string) (*Model, *Committed, *Proof, Arrays) {
	t.Helper()
	base := filepath.Join("onnx", "testdata", "strings", name)
	arrays, err := ReadArrays(base + ".json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(base+".onnx", &OpenOptions{Input: arrays})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	in, err := m.Input(arrays)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	c, err := Quantise(ctx, m, []Input{in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := Commit(ctx, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prove(ctx, committed, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, committed, p, arrays
}

// TestStrings proves models that take strings or name classes, and holds labels and numbers of the verified statement against ONNX
// Runtime's. It fails where a word is cut, counted, encoded or named in another way.
func TestStrings(t *testing.T) {
	models, err := filepath.Glob("onnx/testdata/strings/*.onnx")
	if err != nil || len(models) < 20 {
		t.Fatal(len(models), err)
	}
	for _, path := range models {
		name := strings.TrimSuffix(filepath.Base(path), ".onnx")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, committed, p, arrays := provedStrings(t, name)
			data, err := os.ReadFile(strings.TrimSuffix(path, ".onnx") + ".want.json")
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]wantOf
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			s, err := Verify(committed.Key(), bytes.NewReader(p.File), &VerifyOptions{Input: arrays, Vocabulary: committed.VocabularyFile()})
			if err != nil {
				t.Fatal(err)
			}
			for _, out := range s.Outputs {
				compareWithRuntime(t, out, want[out.Name])
			}
			if err := CheckKey(context.Background(), path, committed.Key(), nil); err != nil {
				t.Errorf("the key is not found to be the model's: %v", err)
			}
		})
	}
}

func compareWithRuntime(t *testing.T, out Tensor, w wantOf) {
	t.Helper()
	if !slices.Equal(out.Shape, w.Shape) {
		t.Fatalf("%s has shape %v, not %v", out.Name, out.Shape, w.Shape)
	}
	span := 0.0
	for _, v := range w.Values {
		if x, ok := v.(float64); ok {
			span = max(span, math.Abs(x))
		}
	}
	for i, v := range w.Values {
		switch v := v.(type) {
		case string:
			if out.Strings == nil || out.Strings[i] != v {
				t.Errorf("%s: entry %d is %v in %q, not %q", out.Name, i, out.Values[i], out.Strings, v)
			}
		case float64:
			if math.Abs(out.Values[i]-v) > 0.003*span {
				t.Errorf("%s: entry %d is %v, not %v", out.Name, i, out.Values[i], v)
			}
		}
	}
}

// TestOtherStrings: other strings that become other numbers are not what a proof is about, numbers alone are not compared
// without a vocabulary, and another vocabulary, in which a word is another one's number, is not the key's.
func TestOtherStrings(t *testing.T) {
	_, committed, p, arrays := provedStrings(t, "columns")
	key, words := committed.Key(), committed.VocabularyFile()
	verify := func(in Arrays, words []byte) error {
		_, err := Verify(key, bytes.NewReader(p.File), &VerifyOptions{Input: in, Vocabulary: words})
		return err
	}
	other := slices.Clone(arrays)
	other[0].Strings = slices.Clone(arrays[0].Strings)
	other[0].Strings[0] = "green"
	if err := verify(other, words); !errors.Is(err, ErrOtherInput) {
		t.Errorf("another colour: %v", err)
	}
	other[0].Strings[0], other[0].Strings[1] = arrays[0].Strings[0], "mauve" // unknown as the one before
	if err := verify(other, words); err != nil {
		t.Errorf("another unknown colour: %v", err)
	}
	if err := verify(arrays, nil); !errors.Is(err, ErrOtherInput) {
		t.Errorf("strings without a vocabulary: %v", err)
	}
	for from, to := range map[string]string{`"blue","green"`: `"green","blue"`, `"buy","sell"`: `"sell","buy"`} {
		changed := bytes.Replace(words, []byte(from), []byte(to), 1)
		if bytes.Equal(changed, words) {
			t.Fatalf("the vocabulary has no %s: %s", from, words)
		}
		if err := verify(arrays, changed); !errors.Is(err, statement.ErrVocabulary) || !errors.Is(err, ErrInvalid) {
			t.Errorf("a vocabulary with %s: %v", to, err)
		}
	}
	quiet := func(int, int) {}
	page, err := verdict.Of(key.Encoded(), p.File, &verdict.Options{MinBits: 1, Vocabulary: words}, quiet)
	if err != nil || page.Vocabulary == "" || !slices.Contains([]string{"buy", "sell"}, page.Outputs[0].Strings[0]) {
		t.Errorf("the page's verdict: %v", err)
	}
	if _, err := verdict.Of(key.Encoded(), p.File, &verdict.Options{MinBits: 1, Vocabulary: words[:len(words)-1]}, quiet); verdict.Kind(err) != "vocabulary" {
		t.Errorf("another vocabulary on the page: %v", err)
	}
	if page, err = verdict.Of(key.Encoded(), p.File, &verdict.Options{MinBits: 1}, quiet); err != nil || page.Vocabulary == "" || page.Outputs[0].Strings != nil {
		t.Errorf("the page's verdict without a vocabulary: %v", err)
	}
	s, err := Verify(key, bytes.NewReader(p.File), nil)
	if err != nil || s.Vocabulary == nil || s.Words != nil || s.Outputs[0].Strings != nil {
		t.Errorf("without a vocabulary: %+v, %v", s, err)
	}
	if _, committed, p, _ := provedStrings(t, "match"); committed.Key().Vocabulary() != nil {
		if _, err := Verify(committed.Key(), bytes.NewReader(p.File), &VerifyOptions{Vocabulary: words}); !errors.Is(err, statement.ErrVocabulary) {
			t.Errorf("another model's vocabulary: %v", err)
		}
	}
}

// TestStringsGiven: tables, NumPy files and lists give the strings that a model takes, in any batch.
func TestStringsGiven(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	m, err := Open("onnx/testdata/strings/columns.onnx", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, path := range []string{
		write("x.csv", "price,answer,size,colour\n0.5,yes,M,red\n-1,no,L,pink\n0,?,XL,blue\n"),
		write("y.json", `{"size": [["M"], ["L"], ["XL"]], "price": [[0.5], [-1], [0]], "colour": ["red", "pink", "blue"]}`),
	} {
		arrays, err := ReadArrays(path)
		if err != nil {
			t.Fatal(err)
		}
		samples, err := m.Samples(arrays)
		if err != nil || len(samples) != 3 {
			t.Fatalf("%s: %d samples, %v", path, len(samples), err)
		}
		byName := map[string][]float64{}
		for i, in := range m.Inputs() {
			for _, s := range samples {
				byName[in.Name] = append(byName[in.Name], s[i]...)
			}
		}
		want := map[string][]float64{"price": {0.5, -1, 0}, "colourout": {0, 0, 1, 0, 0, 0, 1, 0, 0}, "sizeout": {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}}
		for name, values := range want {
			if !slices.Equal(byName[name], values) {
				t.Errorf("%s: %s is %v, not %v", path, name, byName[name], values)
			}
		}
	}
	for path, why := range map[string]string{
		write("a.csv", "price,size,colour\nlow,M,red\n"):                                        `"low" is not a number`,
		write("b.json", `{"size": [["M"]], "price": [["low"]], "colour": [["red"]]}`):           `holds "low" where numbers are expected`,
		write("c.json", `{"size": [["M"]], "price": [[1]], "colour": [[2]]}`):                   "takes strings, and numbers are given",
		write("d.json", `{"size": [["M"]], "price": [[1]]}`):                                    `nothing is for "colour"`,
		write("e.json", `{"size": [["M", "L"]], "price": [[1]], "colour": [["red"]]}`):          "has shape [1 2]",
		write("f.json", `{"size": [["M"]], "price": [[1]], "colour": [["red"]], "weight": 12}`): `no input of that name`,
	} {
		arrays, err := ReadArrays(path)
		if err == nil {
			_, err = m.Input(arrays)
		}
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, which does not say %q", path, err, why)
		}
	}
}
