package poseidon2

import (
	"testing"

	"github.com/prove-model/prove-model/prover/math/field"
	"pgregory.net/rapid"
)

func sampleDigest(i int) (d Digest) {
	for j := range d {
		d[j] = sample(i*DigestLen + j)
	}
	return d
}

func TestCompressFeedsForward(t *testing.T) {
	l, r := sampleDigest(1), sampleDigest(2)
	var s State
	copy(s[:], append(l[:], r[:]...))
	Permute(&s)
	got := Compress(l, r)
	for i := range got {
		if want := l[i].Add(s[i]); got[i] != want {
			t.Fatalf("word %d is %d, want %d", i, got[i], want)
		}
	}
	if Compress(r, l) == got {
		t.Fatal("Compress does not depend on the order")
	}
}

func TestCompressMany(t *testing.T) { atEachLevel(t, compressMany) }

func compressMany(t *testing.T) {
	for n := range 71 {
		pairs := make([]Digest, 2*n)
		want := make([]Digest, n)
		for i := range pairs {
			pairs[i] = sampleDigest(i + n)
		}
		for i := range want {
			want[i] = Compress(pairs[2*i], pairs[2*i+1])
		}
		dst := make([]Digest, n)
		CompressMany(dst, pairs)
		CompressMany(pairs[:n], pairs) // in place
		for i := range want {
			if dst[i] != want[i] || pairs[i] != want[i] {
				t.Fatalf("%d results: number %d differs", n, i)
			}
		}
	}
}

// TestColumnHasher compares with HashElements for any shape and any split of
// the rows between calls.
func TestColumnHasher(t *testing.T) { atEachLevel(t, columnHasher) }

func columnHasher(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(0, 70).Draw(t, "columns")
		total := rapid.IntRange(0, 40).Draw(t, "rows")
		rows := make([][]field.M31, total)
		for i := range rows {
			rows[i] = make([]field.M31, columns)
			for j := range rows[i] {
				rows[i][j] = sample(i*columns + j)
			}
		}
		h := NewColumnHasher(columns, total)
		for rest := rows; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "split")
			h.AbsorbRows(rest[:n])
			rest = rest[n:]
		}
		got := make([]Digest, columns)
		h.Sum(got)
		for j := range got {
			column := make([]field.M31, total)
			for i := range rows {
				column[i] = rows[i][j]
			}
			if want := HashElements(column); got[j] != want {
				t.Fatalf("column %d of %d, %d rows: %v, want %v", j, columns, total, got[j], want)
			}
		}
	})
}

func TestHashElementsSeparatesLengths(t *testing.T) {
	// All prefixes of the zero vector are different messages.
	seen := map[Digest]int{}
	for n := range 40 {
		d := HashElements(make([]field.M31, n))
		if m, ok := seen[d]; ok {
			t.Fatalf("%d zeros and %d zeros collide", n, m)
		}
		seen[d] = n
	}
}

func TestColumnHasherRefusesWrongUse(t *testing.T) {
	row := make([]field.M31, 3)
	misuse := map[string]func(){
		"too many rows": func() { NewColumnHasher(3, 1).AbsorbRows([][]field.M31{row, row}) },
		"too few rows":  func() { NewColumnHasher(3, 1).Sum(make([]Digest, 3)) },
		"short row":     func() { NewColumnHasher(4, 1).AbsorbRows([][]field.M31{row}) },
		"short result":  func() { NewColumnHasher(4, 0).Sum(make([]Digest, 3)) },
		"length p":      func() { NewColumnHasher(1, field.P) },
	}
	for name, f := range misuse {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("no panic")
				}
			}()
			f()
		})
	}
}

func BenchmarkCompressMany(b *testing.B) {
	pairs := make([]Digest, 512)
	dst := make([]Digest, 256)
	for b.Loop() {
		CompressMany(dst, pairs)
	}
	b.ReportMetric(float64(b.N)*float64(len(dst))/b.Elapsed().Seconds()/1e6, "Mhash/s")
}

func BenchmarkColumnHasher(b *testing.B) {
	const columns, rows = 1 << 12, 16
	m := make([][]field.M31, rows)
	for i := range m {
		m[i] = make([]field.M31, columns)
	}
	dst := make([]Digest, columns)
	for b.Loop() {
		h := NewColumnHasher(columns, rows)
		h.AbsorbRows(m[:8])
		h.AbsorbRows(m[8:])
		h.Sum(dst)
	}
	b.SetBytes(4 * columns * rows)
}
