package soundness

import "testing"

// The two parts of a strength may come from different rounds; what is printed
// adds up all the same.
func TestWeakest(t *testing.T) {
	bit := func(x float64) Bits { return Bits(x * (1 << fracBits)) }
	for _, c := range []struct {
		rounds []Round
		want   string
	}{
		{[]Round{{Bits: bit(100.125), Grind: 16}}, "100.1 bits = 84.1 proven + 16 of work"},
		{[]Round{{Bits: bit(101)}, {Bits: bit(100.5), Grind: 16}}, "100.5 bits = 84.5 proven + 16 of work"},
		// The weakest round has no work in it, but another stands on it.
		{[]Round{{Bits: bit(100.25), Grind: 0}, {Bits: bit(104.5), Grind: 20}}, "100.2 bits = 84.5 proven + 15.7 of work"},
		{[]Round{{Bits: bit(120)}}, "120.0 bits = 120.0 proven + 0 of work"},
	} {
		s := Weakest(c.rounds)
		if s.String() != c.want || s.Proven+s.Work() != s.Total {
			t.Errorf("%v, want %s", s, c.want)
		}
	}
	if n := bit(99.99).Whole(); n != 99 {
		t.Errorf("%d whole bits in 99.99", n)
	}
}

// The work of a real proof is that of its rounds: without it no round reaches
// the target by more than rounding.
func TestWeakestOfAnOpening(t *testing.T) {
	p, err := choose(DefaultConfig, []uint64{1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s := Weakest(p.Rounds())
	if s.Work() != WholeBits(DefaultConfig.GrindBits) || s.Total < WholeBits(100) || s.Total > WholeBits(101) {
		t.Errorf("%v", s)
	}
}
