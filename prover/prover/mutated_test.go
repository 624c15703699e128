package prover

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
)

// A structField is a value anywhere in a structure that is not made of others,
// or a list, or a pointer.
type structField struct {
	path  string
	value reflect.Value
}

// fields lists those of v, which must be addressable or a pointer.
func fields(v reflect.Value, path string) (list []structField) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				list = append(list, fields(v.Field(i), path+"."+f.Name)...)
			}
		}
		return list
	case reflect.Ptr:
		if v.CanSet() {
			list = append(list, structField{path, v})
		}
		if !v.IsNil() {
			list = append(list, fields(v.Elem(), path)...)
		}
		return list
	case reflect.Slice:
		list = append(list, structField{path, v})
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			list = append(list, fields(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
		return list
	}
	return append(list, structField{path, v})
}

// mutate changes a field: a number by a little or a lot, a list by one element.
func mutate(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Slice:
		switch n := v.Len(); {
		case n == 0:
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		case rng.IntN(2) == 0:
			k := rng.IntN(n)
			v.Set(reflect.AppendSlice(v.Slice3(0, k, k), v.Slice(k+1, n)))
		default:
			v.Set(reflect.Append(v.Slice3(0, n, n), v.Index(rng.IntN(n))))
		}
	case reflect.Uint8:
		v.SetUint(uint64(rng.IntN(5)))
	case reflect.Ptr:
		v.SetZero()
	case reflect.Int, reflect.Int32, reflect.Int64:
		x := v.Int()
		to := []int64{x + 1, x - 1, -x, 2 * x, x + 3, 0, 1, -1, 1 << 20, 1<<30 - 1, 1 << 30, 1 << 33, rng.Int64N(40)}
		if y := to[rng.IntN(len(to))]; !v.OverflowInt(y) {
			v.SetInt(y)
		}
	}
}

// TestMutatedKeys verifies an honest proof with keys that are valid but not
// its own, under its own's name: nothing that Validate lets through may make
// the verifier panic, not even where it recovers.
func TestMutatedKeys(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 22))
	b := everything(rng)
	b.g.Finish(100)
	mutatedKeys(t, rng, b.prove(t, rng, proof.Security{TargetBits: 60, GrindBits: 8}))
	mutatedKeys(t, rng, proveLayers(t, 7)) // with a free dimension
}

func mutatedKeys(t *testing.T, rng *rand.Rand, p proved) {
	t.Helper()
	file, err := proof.EncodeKey(p.key)
	if err != nil {
		t.Fatal(err)
	}
	key, err := proof.DecodeKey(file)
	if err != nil {
		t.Fatal(err)
	}
	valid, tries := 0, 300
	if *full {
		tries = 1000
	}
	list := fields(reflect.ValueOf(key.Circuit), "circuit")
	for range tries {
		f := list[rng.IntN(len(list))]
		before := reflect.New(f.value.Type()).Elem()
		before.Set(f.value)
		mutate(f.value, rng)
		changed, err := proof.EncodeKey(key)
		f.value.Set(before)
		if err != nil {
			continue
		}
		altered, err := proof.DecodeKey(changed)
		if err != nil {
			continue
		}
		valid++
		altered.Digest = p.key.Digest
		if _, err := verifier.Verify(altered, bytes.NewReader(p.proof)); err != nil && strings.Contains(err.Error(), "the verifier failed") {
			t.Errorf("%s: %v", f.path, err)
		}
	}
	if valid < tries/10 {
		t.Errorf("only %d of the keys are valid", valid)
	}
}
