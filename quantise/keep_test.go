package quantise

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// keptModels are models of all kinds that there is something to keep of.
func keptModels(t *testing.T) map[string]*Model {
	x := openText(t, "../hf/testdata/llama")
	text, err := Quantise(x.g, x.ranges, Options{Length: longest})
	if err != nil {
		t.Fatal(err)
	}
	one := reluModel(t)
	one.OneBatch = errors.New("the model is made of other nodes")
	return map[string]*Model{"relu": one, "blocks": blocks(t), "text": text}
}

func TestKeep(t *testing.T) {
	for name, m := range keptModels(t) {
		parts, err := m.Keep()
		if err != nil {
			t.Fatal(name, err)
		}
		b := slices.Concat(parts...)
		got, err := Kept(b)
		if err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(m, got, cmpopts.EquateEmpty(),
			cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error()) })); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if again, err := got.Keep(); err != nil || len(slices.Concat(again...)) != len(b) {
			t.Errorf("%s: kept again it has %d bytes, not %d: %v", name, len(slices.Concat(again...)), len(b), err)
		}
	}
}

// What is not whole is refused.
func TestKeptRefuses(t *testing.T) {
	parts, err := reluModel(t).Keep()
	if err != nil {
		t.Fatal(err)
	}
	b := slices.Concat(parts...)
	for n := range len(b) - 7 { // the last bytes only fill
		if _, err := Kept(b[:n]); err == nil {
			t.Errorf("%d of %d bytes: accepted", n, len(b))
		}
	}
	if _, err := Kept(append(bytes.Clone(b), make([]byte, 8)...)); err == nil {
		t.Error("more bytes: accepted")
	}
	for i := range b[:8] {
		c := bytes.Clone(b)
		c[i] ^= 0x40
		if _, err := Kept(c); err == nil {
			t.Errorf("another length, byte %d: accepted", i)
		}
	}
}
