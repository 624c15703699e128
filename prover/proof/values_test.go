package proof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// genValues draws a tensor and entries of it, in blocks that use few and many bits.
func genValues(t *rapid.T) (*model.Tensor, []int32) {
	least := rapid.Int64Range(1-model.Bound, model.Bound-1).Draw(t, "least")
	x := &model.Tensor{Min: least, Max: rapid.Int64Range(least, model.Bound-1).Draw(t, "greatest")}
	x.Shape = rapid.SliceOfN(rapid.IntRange(1, 20), 0, 3).Draw(t, "shape")
	values := make([]int32, model.Size(x.Shape))
	step := int64(1) << rapid.IntRange(0, 31).Draw(t, "step")
	span := rapid.Int64Range(1, x.Max-x.Min+1).Draw(t, "span")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	from := x.Min + rng.Int64N(x.Max-x.Min+2-span)
	for i := range values {
		values[i] = int32(from + rng.Int64N(span)/step*step)
	}
	return x, values
}

func TestPackValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, values := genValues(t)
		b, err := packValues(x, values)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b)) > packedBytes(x) {
			t.Fatalf("%d bytes, the bound is %d", len(b), packedBytes(x))
		}
		got, err := unpackValues(x, b)
		if err != nil || !slices.Equal(got, values) {
			t.Fatalf("%v, read as %v (%v)", values, got, err)
		}
		// What is read of altered bytes is what they are the encoding of.
		switch i := rapid.IntRange(0, len(b)-1).Draw(t, "at"); rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			b[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case 1:
			b = b[:i]
		default:
			b = append(b, 0)
		}
		if got, err = unpackValues(x, b); err == nil {
			if again, err := packValues(x, got); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%x is read as %v, which is %x (%v)", b, got, again, err)
			}
		}
	})
}

// TestUnpackRefuses puts together blocks that say what a shorter one says, or nothing.
func TestUnpackRefuses(t *testing.T) {
	x := &model.Tensor{Shape: []int{3}, Min: -4, Max: 27} // 5 bits
	block := func(fields ...int) []byte {
		var w bitWriter
		for i, v := range fields[:3] {
			w.put(uint64(v), []int{5, shiftBits, widthBits}[i])
		}
		for _, v := range fields[3:] {
			w.put(uint64(v), fields[2])
		}
		return w.bytes
	}
	if v, err := unpackValues(x, block(1, 2, 3, 0, 7, 5)); err != nil || !slices.Equal(v, []int32{-3, 25, 17}) {
		t.Fatal(v, err)
	}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"least entry missing": {block(1, 1, 3, 1, 7, 5), errPacked},
		"a shift too little":  {block(1, 1, 3, 0, 6, 4), errPacked},
		"a bit too much":      {block(1, 1, 3, 0, 3, 1), errPacked},
		"a shift of nothing":  {block(1, 1, 0, 0, 0, 0), errPacked},
		"bits of nothing":     {block(1, 0, 1, 0, 0, 0), errPacked},
		"cut off":             {block(1, 0, 9, 0), errPackedEnd},
		"empty":               {nil, errPackedEnd},
		"a byte more":         {append(block(1, 2, 3, 0, 7, 5), 0), errPackedEnd},
		"a bit behind":        {block(1, 2, 3, 0, 7, 5, 1), errPackedEnd},
	} {
		if v, err := unpackValues(x, c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	if v, err := unpackValues(x, block(31, 0, 1, 0, 1, 0)); err == nil || err.Error() != "28 is not in [-4, 27]" {
		t.Errorf("%v, %v", v, err)
	}
	// No room for entries that cannot be there.
	big := &model.Tensor{Shape: []int{1 << 24}, Max: 255}
	if n := testing.AllocsPerRun(1, func() { _, _ = unpackValues(big, make([]byte, 100)) }); n > 0 {
		t.Errorf("%v allocations for 2^24 entries of 100 bytes", n)
	}
}

func TestPackLimbs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := limbs(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "stream"))
		packed, err := packLimbs(nil, stream)
		if err != nil || int64(len(packed)) != streamBytes(int64(len(stream))) {
			t.Fatalf("%d bytes of %d (%v)", len(packed), len(stream), err)
		}
		got, err := unpackLimbs(packed)
		if err != nil || !bytes.Equal(got, stream) {
			t.Fatalf("%x, read as %x (%v)", stream, got, err)
		}
		if len(packed) == 0 {
			return
		}
		packed[rapid.IntRange(0, len(packed)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if got, err = unpackLimbs(packed); err == nil && bytes.Equal(got, stream) {
			t.Fatalf("%x: another encoding", packed)
		}
	})
	for _, packed := range [][]byte{{0}, {0, 0, 0, 0x80}, make([]byte, 5), make([]byte, 32)} {
		if _, err := unpackLimbs(packed); err == nil {
			t.Errorf("%x is read", packed)
		}
	}
}

// BenchmarkUnpackValues reads logits of 16 tokens.
func BenchmarkUnpackValues(b *testing.B) {
	x := &model.Tensor{Shape: []int{16, 49152}, Min: 1 - model.Bound, Max: model.Bound - 1}
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]int32, model.Size(x.Shape))
	for i := range values {
		values[i] = int32(1e5 * rng.NormFloat64())
	}
	packed, err := packValues(x, values)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(4 * int64(len(values)))
	for b.Loop() {
		if _, err := unpackValues(x, packed); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(8*len(packed))/float64(len(values)), "bits/entry")
}

// TestLimbs packs streams of all lengths, long enough for several goroutines, bit by bit.
func TestLimbs(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, n := range []int{0, 1, 2, 7, 8, 9, 16, 1000, 8*limbsPerTask*5 + 3} {
		stream := make([]byte, transcript.LimbBytes*n)
		want := make([]byte, (limbBits*n+7)/8)
		for i := range n {
			v := rng.Uint32() >> 1
			binary.LittleEndian.PutUint32(stream[transcript.LimbBytes*i:], v)
			for k := range limbBits {
				at := limbBits*i + k
				want[at/8] |= byte(v>>k&1) << (at % 8)
			}
		}
		packed, err := packLimbs(nil, stream)
		if err != nil || !bytes.Equal(packed, want) {
			t.Fatalf("%d limbs: wrong bytes, %v", n, err)
		}
		if back, err := unpackLimbs(packed); err != nil || !bytes.Equal(back, stream) {
			t.Fatalf("%d limbs: others come back, %v", n, err)
		}
		if n > 0 {
			stream[transcript.LimbBytes*rng.IntN(n)+3] |= 0x80
			if _, err := packLimbs(nil, stream); err == nil {
				t.Errorf("%d limbs, one of them 2^31: packed", n)
			}
		}
	}
}
