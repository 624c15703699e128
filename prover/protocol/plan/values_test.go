package plan

import (
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// TestLongTensors compares the digests of a long tensor with those of its columns one by
// one, where they begin, and that no entry can change.
func TestLongTensors(t *testing.T) {
	for _, suite := range hash.All() {
		t.Run(suite.String(), func(t *testing.T) { longTensors(t, suite) })
	}
}

func longTensors(t *testing.T, suite hash.Suite) {
	after := func(v []int32) field.QM31 {
		s := transcript.New(suite, "test")
		absorbValues(s, v)
		return s.Challenge()
	}
	for _, n := range []int{longTensor, longTensor + 1, longTensor + digestedColumns, 1<<19 + 77} {
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(i*7919%100003 - 50000)
		}
		want := transcript.New(suite, "test")
		want.AbsorbUint64(uint64(n))
		if n <= longTensor {
			for _, x := range v {
				want.Absorb(field.FromInt32(x))
			}
		} else {
			for c := range digestedColumns {
				var column []field.M31
				for i := c; i < n; i += digestedColumns {
					column = append(column, field.FromInt32(v[i]))
				}
				if len(column) < (n+digestedColumns-1)/digestedColumns {
					column = append(column, 0)
				}
				h, digest := suite.NewPublicColumns(1, len(column)), make([]hash.Digest, 1)
				for len(column) > 0 {
					n := min(len(column), suite.RowsAtOnce())
					rows := make([][]field.M31, n)
					for i := range rows {
						rows[i] = column[i : i+1]
					}
					h.AbsorbRows(rows)
					column = column[n:]
				}
				h.Sum(digest)
				want.AbsorbDigest(digest...)
			}
		}
		c := after(v)
		if c != want.Challenge() {
			t.Errorf("%d entries: another challenge", n)
		}
		for _, i := range []int{0, 1, n / 2, n - 1} {
			altered := slices.Clone(v)
			altered[i]++
			if after(altered) == c {
				t.Errorf("%d entries: entry %d does not count", n, i)
			}
		}
		if after(append(v, 0)) == c { // as if filled up
			t.Errorf("%d entries: the length does not count", n)
		}
	}
}
