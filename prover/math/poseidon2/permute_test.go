package poseidon2

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"pgregory.net/rapid"
)

// vectors is testdata/poseidon2_m31_w16.json: parameters, constants, matrices
// and the image of (0, 1, …, 15).
type vectors struct {
	Width           int                `json:"width"`
	RF              int                `json:"RF"`
	RP              int                `json:"RP"`
	ExternalInitial [][Width]field.M31 `json:"external_initial"`
	Internal        []field.M31        `json:"internal"`
	ExternalFinal   [][Width]field.M31 `json:"external_final"`
	Diagonal        [Width]int64       `json:"internal_diag_minus_ones_matrix"`
	M4              [4][4]field.M31    `json:"M4"`
	In              State              `json:"in0"`
	Out             State              `json:"out0"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	raw, err := os.ReadFile("testdata/poseidon2_m31_w16.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// permuteByMatrices is the permutation as the paper states it, with dense
// matrices and canonical elements: slow, and independent of the code tested.
func permuteByMatrices(v vectors, s State) State {
	var external, internal [Width][Width]field.M31
	for i := range Width {
		for j := range Width {
			external[i][j] = v.M4[i%4][j%4]
			internal[i][j] = 1
			if i/4 == j/4 {
				external[i][j] = external[i][j].Double()
			}
		}
		internal[i][i] = field.FromInt64(1 + v.Diagonal[i])
	}
	apply := func(m *[Width][Width]field.M31, s State) (out State) {
		for i := range m {
			for j := range m[i] {
				out[i] = out[i].Add(m[i][j].Mul(s[j]))
			}
		}
		return out
	}
	full := func(c [Width]field.M31) {
		for i := range s {
			s[i] = s[i].Add(c[i]).Exp(5)
		}
		s = apply(&external, s)
	}
	s = apply(&external, s)
	for _, c := range v.ExternalInitial {
		full(c)
	}
	for _, c := range v.Internal {
		s[0] = s[0].Add(c).Exp(5)
		s = apply(&internal, s)
	}
	for _, c := range v.ExternalFinal {
		full(c)
	}
	return s
}

func TestVector(t *testing.T) { atEachLevel(t, vector) }

func vector(t *testing.T) {
	v := readVectors(t)
	if v.Width != Width || v.RF != externalRounds || v.RP != internalRounds {
		t.Fatalf("vectors are for width %d with %d + %d rounds", v.Width, v.RF, v.RP)
	}
	s := v.In
	Permute(&s)
	if s != v.Out {
		t.Fatalf("Permute(%v) = %v, want %v", v.In, s, v.Out)
	}
}

// genM31 draws a field element, the extremes often.
func genM31() *rapid.Generator[field.M31] {
	return rapid.OneOf(
		rapid.SampledFrom([]field.M31{0, 1, 2, field.P - 2, field.P - 1}),
		rapid.Map(rapid.Uint32Range(0, field.P-1), func(v uint32) field.M31 { return field.M31(v) }),
	)
}

func genState() *rapid.Generator[State] {
	return rapid.Custom(func(t *rapid.T) State {
		return State(rapid.SliceOfN(genM31(), Width, Width).Draw(t, "state"))
	})
}

func TestPermuteMatchesMatrices(t *testing.T) { atEachLevel(t, permuteMatchesMatrices) }

func permuteMatchesMatrices(t *testing.T) {
	v := readVectors(t)
	rapid.Check(t, func(t *rapid.T) {
		s := genState().Draw(t, "s")
		want := permuteByMatrices(v, s)
		Permute(&s)
		if s != want {
			t.Fatalf("got %v, want %v", s, want)
		}
	})
}

func TestPermuteExtremes(t *testing.T) { atEachLevel(t, permuteExtremes) }

func permuteExtremes(t *testing.T) {
	v := readVectors(t)
	for _, x := range []field.M31{0, 1, field.P - 1} {
		var s State
		for i := range s {
			s[i] = x
		}
		want := permuteByMatrices(v, s)
		Permute(&s)
		if s != want {
			t.Fatalf("all %d: got %v, want %v", x, s, want)
		}
	}
}

func TestPermuteManyMatchesPermute(t *testing.T) { atEachLevel(t, permuteManyMatchesPermute) }

func permuteManyMatchesPermute(t *testing.T) {
	for n := range 71 {
		states := make([]State, n)
		want := make([]State, n)
		for k := range states {
			for i := range states[k] {
				states[k][i] = sample(k*Width + i + n)
			}
			want[k] = states[k]
			Permute(&want[k])
		}
		PermuteMany(states)
		for k := range states {
			if states[k] != want[k] {
				t.Fatalf("%d states: number %d differs", n, k)
			}
		}
	}
}

// sample returns a fixed sequence of elements in which the extremes are common.
func sample(i int) field.M31 {
	switch i % 11 {
	case 3:
		return 0
	case 7:
		return field.P - 1
	}
	return field.FromInt64(int64(i+1) * 0x9e3779b97f4a7c1)
}

func BenchmarkPermute(b *testing.B) {
	var s State
	for b.Loop() {
		Permute(&s)
	}
}

func BenchmarkPermuteMany(b *testing.B) {
	states := make([]State, 256)
	for b.Loop() {
		PermuteMany(states)
	}
	b.ReportMetric(float64(b.N)*float64(len(states))/b.Elapsed().Seconds()/1e6, "Mperm/s")
}

func BenchmarkBlock(b *testing.B) {
	var s block
	for b.Loop() {
		s.permute()
	}
	b.ReportMetric(float64(b.N)*lanes/b.Elapsed().Seconds()/1e6, "Mperm/s")
}
