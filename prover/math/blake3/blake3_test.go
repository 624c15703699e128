package blake3

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"lukechampine.com/blake3"
	"pgregory.net/rapid"
)

// TestVectors are the published ones, of lengths up to 100 chunks.
func TestVectors(t *testing.T) {
	var vectors struct {
		Key, Context string
		Cases        []struct {
			Length    int
			KeyedHash string `json:"keyed_hash"`
			DeriveKey string `json:"derive_key"`
		}
	}
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors.Cases) == 0 {
		t.Fatal(err, len(vectors.Cases))
	}
	key := keyOf([]byte(vectors.Key))
	for _, c := range vectors.Cases {
		message := make([]byte, c.Length)
		for i := range message {
			message[i] = byte(i % 251)
		}
		out := make([]byte, len(c.KeyedHash)/2)
		if Sum(out, &key, message); hex.EncodeToString(out) != c.KeyedHash {
			t.Errorf("keyed hash of %d bytes: %x", c.Length, out)
		}
		derived := DeriveKey(vectors.Context, message)
		if got := hex.EncodeToString(bytesOf(Digest(derived))); got != c.DeriveKey {
			t.Errorf("key derived from %d bytes: %s", c.Length, got)
		}
	}
}

// TestSum compares with another implementation.
func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key")
		message := make([]byte, rapid.IntRange(0, 40*ChunkBytes).Draw(t, "length"))
		rand.NewChaCha8([32]byte(key)).Read(message)
		out := make([]byte, rapid.IntRange(0, 300).Draw(t, "output"))
		k := keyOf(key)
		Sum(out, &k, message)
		h := blake3.New(len(out), key)
		h.Write(message)
		if want := h.Sum(nil); !bytes.Equal(out, want) {
			t.Fatalf("%x, want %x", out, want)
		}
	})
}

// matrix returns rows of random words.
func matrix(rng *rand.Rand, height, width int) [][]uint32 {
	rows := make([][]uint32, height)
	for i := range rows {
		rows[i] = make([]uint32, width)
		for j := range rows[i] {
			rows[i][j] = rng.Uint32()
		}
	}
	return rows
}

// TestColumns compares columns of all heights of a chunk and some of several, and of widths about multiples of the lanes, with
// messages hashed alone.
func TestColumns(t *testing.T) {
	key := DeriveKey("test of columns", nil)
	rng := rand.New(rand.NewPCG(1, 2))
	heights := []int{257, 512, 513, 1000, 1280, 7*256 + 16, 2048, 2049}
	for h := range MaxRows + 1 {
		heights = append(heights, h)
	}
	atEachLevel(t, func(t *testing.T) {
		for _, height := range heights {
			width := []int{1, 15, 16, 17, 33, 48}[height%6]
			rows := matrix(rng, height, width)
			h := NewColumnHasher(&key, width, height+1)
			h.Reset(height)
			for first, n := 0, RowsAtOnce*(1+height%3); first < height; first += n {
				h.AbsorbRows(rows[first:min(first+n, height)])
			}
			digests := make([]Digest, width)
			h.Sum(digests)
			for j := range digests {
				var message []byte
				for i := range rows {
					message = binary.LittleEndian.AppendUint32(message, rows[i][j])
				}
				if want := sum(&key, message); digests[j] != want {
					t.Fatalf("%d rows, column %d of %d: %x, want %x", height, j, width, digests[j], want)
				}
			}
		}
	})
}

// TestDigests compares lists of digests, up to several chunks of them, with messages hashed alone.
func TestDigests(t *testing.T) {
	key := DeriveKey("test of digests", nil)
	rng := rand.New(rand.NewPCG(5, 6))
	atEachLevel(t, func(t *testing.T) {
		for n := range 140 {
			width := []int{1, 16, 21}[n%3]
			h := NewDigestHasher(&key, width, n)
			messages := make([][]byte, width)
			for range n {
				list := make([]Digest, width)
				for j := range list {
					for i := range list[j] {
						list[j][i] = rng.Uint32()
					}
					messages[j] = append(messages[j], bytesOf(list[j])...)
				}
				h.Absorb(list)
			}
			if n == 0 {
				continue // a leaf has a group
			}
			digests := make([]Digest, width)
			h.Sum(digests)
			for j, m := range messages {
				if want := sum(&key, m); digests[j] != want {
					t.Fatalf("%d digests, list %d: %x, want %x", n, j, digests[j], want)
				}
			}
		}
	})
}

// TestParents compares levels of a tree with messages of two digests.
func TestParents(t *testing.T) {
	key := DeriveKey("test of parents", nil)
	rng := rand.New(rand.NewPCG(3, 4))
	atEachLevel(t, func(t *testing.T) {
		for n := range 40 {
			children := make([]Digest, 2*n)
			for i := range children {
				for j := range children[i] {
					children[i][j] = rng.Uint32()
				}
			}
			parents := make([]Digest, n)
			Parents(parents, &key, children)
			for i, p := range parents {
				if want := sum(&key, append(bytesOf(children[2*i]), bytesOf(children[2*i+1])...)); p != want {
					t.Fatalf("parent %d of %d: %x, want %x", i, n, p, want)
				}
			}
		}
	})
}

func TestMisuse(t *testing.T) {
	var key Key
	for name, f := range map[string]func(){
		"a row too short":  func() { NewColumnHasher(&key, 2, 2).AbsorbRows([][]uint32{{1, 2}, {1}}) },
		"too many rows":    func() { NewColumnHasher(&key, 1, 1).AbsorbRows([][]uint32{{1}, {1}}) },
		"part of a block":  func() { NewColumnHasher(&key, 1, 17).AbsorbRows([][]uint32{{1}, {1}}) },
		"rows are missing": func() { NewColumnHasher(&key, 1, 1).Sum(make([]Digest, 1)) },
		"no such column":   func() { NewColumnHasher(&key, 1, 0).Sum(make([]Digest, 2)) },
		"no such list":     func() { NewDigestHasher(&key, 2, 1).Absorb(make([]Digest, 1)) },
		"a digest more":    func() { NewDigestHasher(&key, 1, 0).Absorb(make([]Digest, 1)) },
		"a digest less":    func() { NewDigestHasher(&key, 1, 1).Sum(make([]Digest, 1)) },
		"an odd one":       func() { Parents(make([]Digest, 1), &key, make([]Digest, 3)) },
		"no second parent": func() { Parents(make([]Digest, 2), &key, make([]Digest, 3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func keyOf(b []byte) (k Key) {
	for i := range k {
		k[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return k
}

func bytesOf(d Digest) (b []byte) {
	for _, w := range d {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// sum is the digest of a message by the other implementation.
func sum(key *Key, message []byte) Digest {
	h := blake3.New(DigestBytes, bytesOf(Digest(*key)))
	h.Write(message)
	return Digest(keyOf(h.Sum(nil)))
}

// BenchmarkColumns hashes columns of 256 rows, a group of a commitment, sixteen at a time.
func BenchmarkColumns(b *testing.B) {
	for _, width := range []int{1 << 10, 1 << 16} {
		b.Run(fmt.Sprint(width), func(b *testing.B) {
			var key Key
			rows := make([][]uint32, RowsAtOnce)
			for i := range rows {
				rows[i] = make([]uint32, width)
			}
			digests := make([]Digest, width)
			h := NewColumnHasher(&key, width, 0)
			b.SetBytes(int64(width) * ChunkBytes)
			for b.Loop() {
				h.Reset(MaxRows)
				for range MaxRows / RowsAtOnce {
					h.AbsorbRows(rows)
				}
				h.Sum(digests)
			}
		})
	}
}

func BenchmarkParents(b *testing.B) {
	var key Key
	children, parents := make([]Digest, 1<<13), make([]Digest, 1<<12)
	b.SetBytes(int64(len(children)) * DigestBytes)
	for b.Loop() {
		Parents(parents, &key, children)
	}
}

func BenchmarkSum(b *testing.B) {
	var key Key
	message, digest := make([]byte, 1<<10), make([]byte, DigestBytes)
	b.SetBytes(int64(len(message)))
	for b.Loop() {
		Sum(digest, &key, message)
	}
}
