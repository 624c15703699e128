package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/prove-model/prove-model/kernels"
	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/math/code"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/merkle"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
	"github.com/prove-model/prove-model/prover/math/transcript"
)

// upload copies a slice to the device for the time of the test.
func upload[T kernels.Element](t testing.TB, d kernels.Device, v []T) kernels.Ptr {
	t.Helper()
	p, err := kernels.NewSlice(d, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Free(p) })
	return p
}

// alloc returns memory for n elements of T for the time of the test.
func alloc[T kernels.Element](t testing.TB, d kernels.Device, n int) kernels.Ptr {
	t.Helper()
	p, err := kernels.AllocSlice[T](d, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Free(p) })
	return p
}

func download[T kernels.Element](t testing.TB, d kernels.Device, p kernels.Ptr, n int) []T {
	t.Helper()
	v := make([]T, n)
	must(t, kernels.DownloadSlice(d, v, p))
	return v
}

// states of edge values and random ones.
func states(rng *rand.Rand, n int) []poseidon2.State {
	s := make([]poseidon2.State, n)
	for i := range s {
		for j := range s[i] {
			s[i][j] = field.M31(rng.Uint32N(field.P))
			if i < len(extremes) {
				s[i][j] = extremes[i]
			}
		}
	}
	return s
}

func digests(rng *rand.Rand, n int) []hash.Digest {
	d := make([]hash.Digest, n)
	for i, s := range states(rng, n) {
		for k := range d[i] {
			d[i][k] = uint32(s[k])
		}
	}
	return d
}

func TestPermuteMany(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 255, 256, 300} {
		s := states(rng, n)
		var flat []field.M31
		for i := range s {
			flat = append(flat, s[i][:]...)
		}
		p := upload(t, d, flat)
		must(t, kernels.PermuteMany(d, p, n))
		poseidon2.PermuteMany(s)
		for i, v := range download[field.M31](t, d, p, len(flat)) {
			if v != s[i/16][i%16] {
				t.Fatalf("%d states: word %d of state %d is %d, want %d", n, i%16, i/16, v, s[i/16][i%16])
			}
		}
	}
}

// eachSuite runs a test for every hash suite.
func eachSuite(t *testing.T, test func(t *testing.T, suite hash.Suite)) {
	for _, suite := range hash.All() {
		t.Run(suite.String(), func(t *testing.T) { test(t, suite) })
	}
}

func TestHashColumns(t *testing.T) { eachSuite(t, hashColumns) }

func hashColumns(t *testing.T, suite hash.Suite) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct{ columns, rows, stride, split int }{
		{1, 1, 1, 1}, {5, 16, 5, 16}, {300, 17, 300, 17}, {257, 17, 260, 16}, {64, 63, 64, 32}, {33, 3, 40, 3}, {3, 80, 3, 16}, {2, 256, 2, 48},
	} {
		rows := make([][]field.M31, c.rows)
		matrix := make([]field.M31, c.rows*c.stride)
		for r := range rows {
			rows[r] = vectorM31(rng, c.columns, r+1)
			copy(matrix[r*c.stride:], rows[r])
		}
		want := make([]hash.Digest, c.columns)
		h := suite.NewColumns(c.columns, c.rows)
		h.AbsorbRows(rows)
		h.Sum(want)
		p := upload(t, d, matrix)
		out := alloc[hash.Digest](t, d, c.columns)
		var state kernels.Ptr
		if c.split < c.rows && kernels.ColumnState(suite) > 0 {
			state = alloc[uint8](t, d, kernels.ColumnState(suite)*c.columns)
		}
		for from := 0; from < c.rows; from += c.split {
			n := min(c.split, c.rows-from)
			must(t, kernels.HashColumns(d, suite, out, state, p.Offset(from*c.stride, 4), c.stride, c.columns, n, from, c.rows))
		}
		for i, g := range download[hash.Digest](t, d, out, c.columns) {
			if g != want[i] {
				t.Fatalf("%+v: column %d: %v, want %v", c, i, g, want[i])
			}
		}
		if kernels.ColumnState(suite) > 0 && kernels.HashColumns(d, suite, out, 0, p, c.stride, c.columns, 16, 0, 32) == nil {
			t.Error("a part of the rows without memory for states")
		}
		if err := kernels.HashColumns(d, suite, out, p, p, c.stride, c.columns, 7, 0, 16); err == nil {
			t.Error("a part of seven rows")
		}
		if len(suite.Groups(257)) > 1 && kernels.HashColumns(d, suite, out, p, p, c.stride, c.columns, 16, 0, 257) == nil {
			t.Error("257 rows in a group")
		}
	}
}

func TestAbsorbDigests(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite hash.Suite) {
		for _, salted := range []bool{false, true} {
			absorbDigests(t, suite, salted)
		}
	})
}

func absorbDigests(t *testing.T, suite hash.Suite, salted bool) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct{ columns, groups int }{
		{1, 2}, {300, 3}, {257, 5}, {3, 32}, {3, 33}, {2, 64}, {2, 65}, {2, 96}, {2, 97}, {1, 130}, {1, 257},
	} {
		h := suite.NewLeaves(c.columns, c.groups)
		if salted {
			h = suite.NewSaltedLeaves(c.columns, c.groups-1)
		}
		out := alloc[hash.Digest](t, d, c.columns)
		state := alloc[uint8](t, d, kernels.DigestState(suite, c.groups)*c.columns)
		for g := range c.groups {
			group := digests(rng, c.columns)
			p := upload(t, d, group)
			h.Absorb(group)
			if g == c.groups-1 {
				out = p // in place
			}
			must(t, kernels.AbsorbDigests(d, suite, out, state, p, c.columns, g, c.groups, salted))
		}
		want := h.Sum()
		for i, g := range download[hash.Digest](t, d, out, c.columns) {
			if g != want[i] {
				t.Fatalf("%+v, salted %v: column %d: %v, want %v", c, salted, i, g, want[i])
			}
		}
		if kernels.AbsorbDigests(d, suite, out, state, out, c.columns, c.groups, c.groups, salted) == nil {
			t.Error("a group too many")
		}
		if kernels.AbsorbDigests(d, suite, out, state, out, c.columns, 0, 1, salted) == nil {
			t.Error("a single group")
		}
	}
}

func TestMerkle(t *testing.T) { eachSuite(t, trees) }

func trees(t *testing.T, suite hash.Suite) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(9, 10))
	for _, depth := range []int{0, 1, 2, 5, 9} {
		leaves := digests(rng, 1<<depth)
		want := merkle.New(suite, leaves)
		nodes := alloc[hash.Digest](t, d, kernels.TreeDigests(depth))
		must(t, kernels.UploadSlice(d, nodes, leaves))
		must(t, kernels.MerkleTree(d, suite, nodes, depth))
		got := download[hash.Digest](t, d, nodes, kernels.TreeDigests(depth))
		for l, layer := range want.Layers() {
			for i := range layer {
				if g := got[kernels.TreeLayer(depth, l)+i]; g != layer[i] {
					t.Fatalf("depth %d, layer %d, node %d: %v, want %v", depth, l, i, g, layer[i])
				}
			}
		}
		root := alloc[hash.Digest](t, d, 1)
		must(t, kernels.MerkleRoot(d, suite, root, nodes, alloc[hash.Digest](t, d, 1<<depth), depth))
		if g := download[hash.Digest](t, d, root, 1)[0]; g != want.Root() {
			t.Errorf("depth %d: root alone is %v, want %v", depth, g, want.Root())
		}
		indexes := []uint64{0, uint64(len(got) - 1), uint64(len(got) / 2)}
		some := alloc[hash.Digest](t, d, 3)
		must(t, kernels.GatherDigests(d, some, nodes, upload(t, d, indexes), 3))
		for i, g := range download[hash.Digest](t, d, some, 3) {
			if g != got[indexes[i]] {
				t.Errorf("depth %d: gathered %v, want %v", depth, g, got[indexes[i]])
			}
		}
	}
}

func TestSearchNonce(t *testing.T) { eachSuite(t, searchNonce) }

func searchNonce(t *testing.T, suite hash.Suite) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(11, 12))
	work := hash.Work{Suite: suite, Bits: 7}
	for i, v := range states(rng, 20)[19] {
		work.State[i] = uint32(v)
	}
	want := transcript.SearchNonce(work)
	best := upload(t, d, []uint64{1 << 40})
	p := upload(t, d, work.State[:])
	for first := uint64(0); first <= want; first += 100 {
		if g := download[uint64](t, d, best, 1)[0]; g != 1<<40 {
			t.Fatalf("found %d, want %d", g, want)
		}
		must(t, kernels.SearchNonce(d, &work, best, p, first, 100))
	}
	// The next nonces change nothing.
	must(t, kernels.SearchNonce(d, &work, best, p, want+1, 300))
	if g := download[uint64](t, d, best, 1)[0]; g != want {
		t.Fatalf("found %d, want %d", g, want)
	}
	work.Bits = 0
	if kernels.SearchNonce(d, &work, best, p, 0, 100) == nil {
		t.Error("a search for no work")
	}
}

func TestTwiddlesAndEncode(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(13, 14))
	most := 20
	type shape struct{ rows, table, domain int }
	var long []shape // with several rows and nodes, and with three passes: too many for the host
	if os.Getenv("PROVE_MODEL_TEST_GPU") == "1" {
		most = 26
		long = []shape{{3, 19, 21}, {17, 20, 22}, {2, 21, 23}, {2, 22, 24}, {2, 23, 25}, {1, 24, 26}}
	}
	twiddles := alloc[field.M31](t, d, 1<<most)
	must(t, kernels.Twiddles(d, twiddles, most))
	for _, c := range append([]shape{
		{1, 0, 0}, {2, 0, 2}, {1, 1, 3}, {3, 2, 3}, {2, 3, 5}, {1, 4, 4}, {2, 5, 6}, {1, 11, 12}, {2, 12, 13}, {2, 13, 14}, {2, 14, 16}, {1, 15, 15}, {2, 16, 17}, {1, 17, 17}, {1, 18, 18}, {1, 19, 19}, {1, 20, 20},
	}, long...) {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			ints := make([]int32, c.rows<<c.table)
			for i := range ints {
				ints[i] = rng.Int32N(1<<31-1) - 1<<30 + 1
			}
			copy(ints, []int32{1<<30 - 1, -1<<30 + 1, 0, -1})
			out := alloc[field.M31](t, d, c.rows<<c.domain)
			must(t, kernels.Encode(d, out, upload(t, d, ints), twiddles, c.rows, c.table, c.domain))
			got := download[field.M31](t, d, out, c.rows<<c.domain)
			coeffs, want := make([]field.M31, 1<<c.table), make([]field.M31, 1<<c.domain)
			for r := range c.rows {
				field.FromInt32Vec(coeffs, ints[r<<c.table:(r+1)<<c.table])
				code.Encode(want, coeffs)
				for i, w := range want {
					if got[r<<c.domain+i] != w {
						t.Fatalf("row %d, position %d: %d, want %d", r, i, got[r<<c.domain+i], w)
					}
				}
			}
			for part := range 1 << (c.domain - c.table) { // is the same
				must(t, kernels.EncodePart(d, out, upload(t, d, ints), twiddles, c.rows, c.table, c.domain, part))
				for i, w := range download[field.M31](t, d, out, c.rows<<c.table) {
					row, position := i>>c.table, part<<c.table+i&(1<<c.table-1)
					if want := got[row<<c.domain+position]; w != want {
						t.Fatalf("row %d, position %d of part %d: %d, want %d", row, position, part, w, want)
					}
				}
			}
		})
	}
	if err := kernels.Encode(d, twiddles, twiddles, twiddles, 1, 5, 4); err == nil {
		t.Error("a codeword shorter than its table")
	}
	if err := kernels.EncodePart(d, twiddles, twiddles, twiddles, 1, 3, 5, 4); err == nil {
		t.Error("a fifth part of four")
	}
}

func TestSplitAndGather(t *testing.T) {
	d := devicetest.Open(t)
	rng := rand.New(rand.NewPCG(15, 16))
	for _, c := range []struct{ vars, rows int }{{0, 1}, {3, 5}, {9, 2}} {
		v := vectorQM31(rng, c.rows<<c.vars, 3)
		words := alloc[field.M31](t, d, 4*len(v))
		must(t, kernels.SplitLimbs(d, words, upload(t, d, v), c.vars, c.rows))
		got := download[field.M31](t, d, words, 4*len(v))
		for i, x := range v {
			row, column := i>>c.vars, i&(1<<c.vars-1)
			for j, l := range x.Limbs() {
				if g := got[(4*row+j)<<c.vars+column]; g != l {
					t.Fatalf("%+v: limb %d of element %d: %d, want %d", c, j, i, g, l)
				}
			}
		}
		positions := []uint64{0, 1<<c.vars - 1}
		n := 4 * c.rows
		leaves := alloc[field.M31](t, d, 2*(n+3))
		must(t, kernels.GatherColumns(d, leaves, n+3, words, 1<<c.vars, n, upload(t, d, positions), 2))
		for i, g := range download[field.M31](t, d, leaves, 2*(n+3)) {
			k, r := i/(n+3), i%(n+3)
			if r < n && g != got[r<<c.vars+int(positions[k])] {
				t.Fatalf("%+v: value %d of leaf %d: %d, want %d", c, r, k, g, got[r<<c.vars+int(positions[k])])
			}
		}
	}
}
