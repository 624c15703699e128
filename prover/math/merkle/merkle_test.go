package merkle

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"pgregory.net/rapid"
)

// eachSuite runs a test for every hash suite.
func eachSuite(t *testing.T, test func(t *testing.T, suite hash.Suite)) {
	for _, suite := range hash.All() {
		t.Run(suite.String(), func(t *testing.T) { test(t, suite) })
	}
}

// testLeaves returns 2^depth distinct digests.
func testLeaves(depth int) []hash.Digest {
	leaves := make([]hash.Digest, 1<<depth)
	for i := range leaves {
		leaves[i] = hash.Digest{uint32(i), uint32(i) * uint32(i)}
	}
	return leaves
}

// open returns the bytes of an opening.
func open(suite hash.Suite, t *Tree, indices []uint64) []byte {
	w := transcript.NewWriter(transcript.New(suite, "test"))
	w.HintDigest(t.Siblings(indices)...)
	return w.Bytes()
}

// check verifies an opening and that all of it was read.
func check(suite hash.Suite, proof []byte, root hash.Digest, depth int, indices []uint64, leaves []hash.Digest) error {
	r := transcript.NewReader(transcript.New(suite, "test"), proof)
	if err := Verify(r, root, depth, indices, leaves); err != nil {
		if r.Err() == nil {
			return errors.New("the reader does not know of the error")
		}
		return err
	}
	return r.Done()
}

// pick returns the leaves at indices.
func pick(leaves []hash.Digest, indices []uint64) []hash.Digest {
	var p []hash.Digest
	for _, i := range indices {
		p = append(p, leaves[i])
	}
	return p
}

// TestRootByDefinition compares with the recursive definition.
func TestRootByDefinition(t *testing.T) { eachSuite(t, rootByDefinition) }

func rootByDefinition(t *testing.T, suite hash.Suite) {
	var root func(l []hash.Digest) hash.Digest
	root = func(l []hash.Digest) hash.Digest {
		if len(l) == 1 {
			return l[0]
		}
		var node [1]hash.Digest
		suite.Parents(node[:], []hash.Digest{root(l[:len(l)/2]), root(l[len(l)/2:])})
		return node[0]
	}
	for depth := range 11 {
		leaves := testLeaves(depth)
		tree := New(suite, leaves)
		if tree.Root() != root(leaves) || tree.Depth() != depth {
			t.Errorf("depth %d: wrong root or depth", depth)
		}
	}
}

// TestEverySubset opens every subset of the leaves of small trees, and expects
// exactly the siblings that cannot be computed.
func TestEverySubset(t *testing.T) { eachSuite(t, everySubset) }

func everySubset(t *testing.T, suite hash.Suite) {
	for depth := range 4 {
		leaves := testLeaves(depth)
		tree := New(suite, leaves)
		for set := range 1 << len(leaves) {
			var indices []uint64
			for i := range leaves {
				if set>>i&1 == 1 {
					indices = append(indices, uint64(i))
				}
			}
			proof := open(suite, tree, indices)
			if err := check(suite, proof, tree.Root(), depth, indices, pick(leaves, indices)); err != nil {
				t.Fatalf("depth %d, leaves %v: %v", depth, indices, err)
			}
			// A node is sent when it covers no opened leaf and its sibling does.
			covers := func(level, node int) bool {
				mask := (1<<(1<<level) - 1) << (node << level)
				return set&mask != 0
			}
			want := 0
			for level := range depth {
				for node := range len(leaves) >> level {
					if !covers(level, node) && covers(level, node^1) {
						want++
					}
				}
			}
			if got := len(proof) / (poseidon2.DigestLen * transcript.LimbBytes); got != want {
				t.Fatalf("depth %d, leaves %v: %d digests, want %d", depth, indices, got, want)
			}
		}
	}
}

func TestTampering(t *testing.T) { eachSuite(t, tampering) }

func tampering(t *testing.T, suite hash.Suite) {
	const depth = 6
	leaves := testLeaves(depth)
	tree := New(suite, leaves)
	rapid.Check(t, func(t *rapid.T) {
		indices := Distinct(rapid.SliceOfN(rapid.Uint64Range(0, 1<<depth-1), 1, 20).Draw(t, "indices"))
		opened := pick(leaves, indices)
		proof := open(suite, tree, indices)
		if err := check(suite, proof, tree.Root(), depth, indices, opened); err != nil {
			t.Fatal(err)
		}
		i := rapid.IntRange(0, len(indices)-1).Draw(t, "leaf")
		limb := rapid.IntRange(0, len(hash.Digest{})-1).Draw(t, "limb")

		wrong := append([]hash.Digest(nil), opened...)
		wrong[i][limb] = (wrong[i][limb] + 1) % field.P
		if err := check(suite, proof, tree.Root(), depth, indices, wrong); !errors.Is(err, ErrRoot) {
			t.Fatalf("changed leaf: %v", err)
		}
		root := tree.Root()
		root[limb] = (root[limb] + 1) % field.P
		if err := check(suite, proof, root, depth, indices, opened); !errors.Is(err, ErrRoot) {
			t.Fatalf("changed root: %v", err)
		}
		if len(indices) > 1 {
			wrong = append([]hash.Digest(nil), opened...)
			wrong[0], wrong[1] = wrong[1], wrong[0]
			if err := check(suite, proof, tree.Root(), depth, indices, wrong); !errors.Is(err, ErrRoot) {
				t.Fatalf("swapped leaves: %v", err)
			}
		}
		if len(proof) > 0 {
			at := rapid.IntRange(0, len(proof)-1).Draw(t, "byte")
			bad := append([]byte(nil), proof...)
			bad[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			if err := check(suite, bad, tree.Root(), depth, indices, opened); err == nil {
				t.Fatalf("changed byte %d is accepted", at)
			}
			if err := check(suite, proof[:at], tree.Root(), depth, indices, opened); !errors.Is(err, transcript.ErrTruncated) {
				t.Fatalf("proof cut at byte %d: %v", at, err)
			}
		}
		if err := check(suite, append(proof, 0), tree.Root(), depth, indices, opened); !errors.Is(err, transcript.ErrTrailing) {
			t.Fatalf("extra byte: %v", err)
		}
	})
}

func TestBadArguments(t *testing.T) { eachSuite(t, badArguments) }

func badArguments(t *testing.T, suite hash.Suite) {
	leaves := testLeaves(2)
	tree := New(suite, leaves)
	for name, c := range map[string]struct {
		depth   int
		indices []uint64
		leaves  []hash.Digest
	}{
		"depth below 0":  {-1, []uint64{0}, leaves[:1]},
		"depth above 63": {64, []uint64{0}, leaves[:1]},
		"more indices":   {2, []uint64{0, 1}, leaves[:1]},
		"out of range":   {2, []uint64{4}, leaves[:1]},
		"repeated":       {2, []uint64{1, 1}, leaves[:2]},
		"not sorted":     {2, []uint64{2, 1}, leaves[:2]},
	} {
		if err := check(suite, open(suite, tree, []uint64{0}), tree.Root(), c.depth, c.indices, c.leaves); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestLayers(t *testing.T) { eachSuite(t, layers) }

func layers(t *testing.T, suite hash.Suite) {
	tree := New(suite, testLeaves(5))
	again, err := FromLayers(tree.Layers())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(open(suite, tree, []uint64{3, 17}), open(suite, again, []uint64{3, 17})); d != "" {
		t.Error(d)
	}
	for name, layers := range map[string][][]hash.Digest{
		"none":      nil,
		"no root":   tree.Layers()[:5],
		"no leaves": tree.Layers()[1:][:4],
		"short":     {tree.Layers()[0][:31], tree.Layers()[1], tree.Layers()[2], tree.Layers()[3], tree.Layers()[4], tree.Layers()[5]},
	} {
		if _, err := FromLayers(layers); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func FuzzVerify(f *testing.F) {
	const depth = 4
	leaves := testLeaves(depth)
	var trees []*Tree
	for _, suite := range hash.All() {
		tree := New(suite, leaves)
		trees = append(trees, tree)
		f.Add(uint16(1<<3|1<<9), open(suite, tree, []uint64{3, 9}))
	}
	f.Add(uint16(0), []byte{})
	f.Fuzz(func(t *testing.T, set uint16, proof []byte) {
		var indices []uint64
		for i := range leaves {
			if set>>i&1 == 1 {
				indices = append(indices, uint64(i))
			}
		}
		for i, suite := range hash.All() {
			err := check(suite, proof, trees[i].Root(), depth, indices, pick(leaves, indices))
			if honest := open(suite, trees[i], indices); (err == nil) != (string(honest) == string(proof)) {
				t.Fatalf("leaves %v: %v for a proof of %d bytes; the honest one has %d", indices, err, len(proof), len(honest))
			}
		}
	})
}

func BenchmarkNew(b *testing.B) {
	for _, suite := range hash.All() {
		b.Run(suite.String(), func(b *testing.B) {
			leaves := testLeaves(14)
			b.SetBytes(int64(len(leaves)) * 32)
			for b.Loop() {
				New(suite, leaves)
			}
		})
	}
}
