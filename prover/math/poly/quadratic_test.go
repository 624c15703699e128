package poly

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
)

func TestQuadratic(t *testing.T) {
	q := Quadratic{field.FromM31(5), field.FromM31(field.P - 3), field.FromM31(2)}
	if got, want := q.At(field.FromM31(4)), field.FromM31(5-12+32); got != want {
		t.Errorf("5 − 3·4 + 2·16 = %v, want %v", got, want)
	}
}
