package proof

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/math/field"
)

func encode(t testing.TB, k *Key) []byte {
	t.Helper()
	b, err := EncodeKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := genKey().Draw(rt, "key")
		b, err := EncodeKey(k)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := ReadKey(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(k, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Key{})); d != "" {
			rt.Fatal(d)
		}
		again, err := EncodeKey(got)
		if err != nil || !bytes.Equal(b, again) {
			rt.Fatalf("encoding again differs: %v", err)
		}
	})
}

var full = flag.Bool("full", false, "change every byte of a key in three ways, not in one of them; make full does")

// Every changed byte must be refused or change the model commitment.
func TestKeyEveryByteMatters(t *testing.T) {
	everyByteMatters(t, sampleKey())
	k := sampleKey()
	k.Source = sampleSource()
	everyByteMatters(t, k)
}

func everyByteMatters(t *testing.T, k *Key) {
	t.Helper()
	b := encode(t, k)
	refused, tried := 0, 0
	for i := range b {
		for way, x := range []byte{1, 0x80, 0xff} {
			if !*full && way != i%3 {
				continue
			}
			tried++
			c := bytes.Clone(b)
			c[i] ^= x
			got, err := DecodeKey(c)
			if err != nil {
				refused++
				if !errors.Is(err, ErrMalformed) {
					t.Fatalf("byte %d: %v does not wrap ErrMalformed", i, err)
				}
				continue
			}
			if got.Digest == k.Digest {
				t.Fatalf("byte %d: same digest", i)
			}
			if cmp.Equal(k, got, cmpopts.IgnoreFields(Key{}, "Digest"), cmpopts.IgnoreUnexported(Key{}), cmpopts.EquateEmpty()) {
				t.Fatalf("byte %d: two encodings of one key", i)
			}
		}
	}
	if 3*refused < tried {
		t.Errorf("only %d of %d changes refused", refused, tried)
	}
	for n := range b {
		if _, err := DecodeKey(b[:n]); !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
	if _, err := DecodeKey(append(bytes.Clone(b), 0)); !errors.Is(err, ErrMalformed) {
		t.Fatalf("one byte more: %v", err)
	}
}

// Validate accepts every key here; the errors are those of this package.
func TestEncodeKeyRefuses(t *testing.T) {
	for name, change := range map[string]func(*Key){
		"no graph":        func(k *Key) { k.Circuit = nil },
		"no tree":         func(k *Key) { k.Trees = nil },
		"two trees":       func(k *Key) { k.Trees = append(k.Trees, k.Trees[0]) },
		"a text of none":  func(k *Key) { k.Texts = []Text{{}} }, // its input is no tokens
		"a hash":          func(k *Key) { k.Security.Hash = 2 },
		"invalid circuit": func(k *Key) { k.Circuit.Graph.Outputs = nil },
		"bits":            func(k *Key) { k.Security.TargetBits = 121 },
		"no bits":         func(k *Key) { k.Security.TargetBits = 0 },
		"grinding":        func(k *Key) { k.Security.GrindBits = 25 },
		"mode":            func(k *Key) { k.Security.Mode = 2 },
		"scale":           func(k *Key) { k.Circuit.Graph.Tensors[0].Frac = 1 << 40 },
		"root":            func(k *Key) { k.Trees[0].Root[3] = field.P },
		"row length":      func(k *Key) { k.Trees[0].RowVars = 30 },
		"no row length":   func(k *Key) { k.Trees[0].RowVars = 0 },
		"dropped bits":    func(k *Key) { k.Circuit.Graph.Tables[1].Drop = 1 }, // of keys that begin below 0
		"unused id":       func(k *Key) { k.Circuit.Graph.Steps[4].Den = 1000 },
		"name":            func(k *Key) { k.Circuit.Graph.Name = "\xff" },
		"escape sequence": func(k *Key) { k.Circuit.Graph.Tensors[k.Circuit.Graph.Outputs[0]].Name = "\x1b[1A\x1b[2Kproof valid" },
		"own output":      func(k *Key) { k.Circuit.Graph.Steps[2].Acc.Linear[0].Src = k.Circuit.Graph.Steps[2].Out },
		"unused id set":   func(k *Key) { k.Circuit.Graph.Steps[4].Den = 0 },
		"no files":        func(k *Key) { k.Source.Files = nil },
		"many files":      func(k *Key) { k.Source.Files = make([][32]byte, maxSourceFiles+1) },
		"no quantiser":    func(k *Key) { k.Source.Quantiser = 0 },
		"weight bits":     func(k *Key) { k.Source.WeightBits = 0 },
		"activation bits": func(k *Key) { k.Source.ActBits = 65 },
		"table bits":      func(k *Key) { k.Source.TableBits = -1 },
		"headroom":        func(k *Key) { k.Source.Headroom = math.NaN() },
		"less headroom":   func(k *Key) { k.Source.Headroom = 0.5 },
		"more headroom":   func(k *Key) { k.Source.Headroom = math.Inf(1) },
		"half a range":    func(k *Key) { k.Source.Ranges = k.Source.Ranges[:4] },
		"many ranges":     func(k *Key) { k.Source.Ranges = make([]uint32, maxSourceRanges+3) },
		"range code":      func(k *Key) { k.Source.Ranges[1] = 1 << RangeCodeBits },
	} {
		k := sampleKey()
		k.Source = sampleSource()
		encode(t, k)
		change(k)
		if _, err := EncodeKey(k); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	k := &Key{Circuit: &model.Template{Graph: &model.Graph{
		Tensors: []model.Tensor{{Kind: model.Input}},
		Inputs:  []model.TensorID{0}, Outputs: []model.TensorID{0},
	}}, Security: Security{TargetBits: 100}}
	encode(t, k)
	k.Trees = []Tree{{RowVars: 1}}
	if _, err := EncodeKey(k); err == nil {
		t.Error("a commitment to nothing: accepted")
	}
}

func TestReadKeyBounds(t *testing.T) {
	b := encode(t, sampleKey())
	if _, err := ReadKey(bytes.NewReader(b), int64(len(b)-1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("over the limit: %v", err)
	}
	_, err := ReadKey(errorReader{}, 1<<20)
	if err == nil || errors.Is(err, ErrMalformed) {
		t.Errorf("an I/O error must not count as malformed: %v", err)
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

// keyFile frames a protobuf body.
func keyFile(body []byte) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte(KeyMagic), Version), body...)
}

func TestDecodeKeyRefusesOtherEncodings(t *testing.T) {
	b := encode(t, sampleKey())
	graph, root := graphMessage.Append(nil, sampleKey().Circuit), encodeDigest(sampleKey().Trees[0].Root)
	field := func(num protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), v)
	}
	security := []byte{1 << 3, 100}
	tree := func(root []byte, more ...byte) []byte {
		return field(9, append(append(field(1, root), 2<<3, 12), more...))
	}
	// with is a key with something between its security and its tree, and after it.
	with := func(security, between, trees []byte) []byte {
		return keyFile(bytes.Join([][]byte{field(1, graph), field(3, security), between, trees}, nil))
	}
	whole := func(graph, root, security []byte) []byte {
		return keyFile(bytes.Join([][]byte{field(1, graph), field(3, security), tree(root)}, nil))
	}
	poseidon2 := append(bytes.Clone(security), 4<<3, 1)
	if _, err := DecodeKey(whole(graph, root, security)); err != nil {
		t.Fatalf("the test's own encoding: %v", err)
	}
	highRoot := bytes.Clone(root)
	copy(highRoot, []byte{0xff, 0xff, 0xff, 0x7f})
	for _, c := range []struct {
		want string
		b    []byte
	}{
		{"unknown field 9", whole(graph, root, append(bytes.Clone(security), 9<<3, 1))},
		{"field 1 after field 2", whole(graph, root, append([]byte{2 << 3, 1}, security...))},
		{"field 1 twice", whole(graph, root, append(bytes.Clone(security), security...))},
		{"spelt out", whole(graph, root, append(bytes.Clone(security), 2<<3, 0))},
		{"spelt out", whole(graph, nil, security)},
		{"not minimal", whole(graph, root, []byte{1 << 3, 0x80 | 100, 0})},
		{"does not fit 32 bits", whole(graph, root, []byte{1 << 3, 0x80, 0x80, 0x80, 0x80, 0x10})},
		{"unknown value 2", whole(graph, root, append(bytes.Clone(security), 3<<3, 2))},
		{"wire type", whole(graph, root, []byte{1<<3 | 1, 0, 0, 0, 0, 0, 0, 0, 0})},
		{"tag: varint is not minimal", whole(graph, root, []byte{0x80 | 1<<3, 0, 100})},
		{"31 bytes, not 32", whole(graph, root[:31], security)},
		{"limb 0 is not canonical", whole(graph, highRoot, poseidon2)},
		{"field 3 after field 9", with(security, tree(root), field(3, security))},
		{"stacks of fixed tensors: 1, commitments to them: 2", with(security, nil, append(tree(root), tree(root)...))},
		{"trees[0].root: 0 bytes, not 32", with(security, nil, field(9, []byte{2 << 3, 12}))},
		{"tree 0: rows of 2^0 values", with(security, nil, field(9, field(1, root)))},
		{"Key: unknown field 2", keyFile(append(field(1, graph), field(2, root)...))}, // the root of older versions
		{"Key: unknown field 7", with(security, []byte{7 << 3, 1}, tree(root))},
		{"Key.log_blowup: is a field that this release of prove-model does not read", with(security, []byte{8 << 3, 3}, tree(root))},
		{"Key.hiding: is a field that this release", with(security, nil, append(tree(root), field(10, nil)...))},
		{"Key.trees[0].size: is a field", with(security, nil, tree(root, 3<<3, 1))},
		{"tree 0: tails of a 2^1-th", with(security, nil, tree(root, 4<<3, 1))},
		{"Key.trees[0].tail_log: ", with(security, nil, tree(root, 4<<3, 7))},
		{"Key.trees[0].kind: is a field", with(security, nil, tree(root, 5<<3, 1))},
		{"Key.trees[0].subject: is a field", with(security, nil, tree(root, 6<<3, 1))},
		{"Key.trees[0].spans: is a field", with(security, nil, tree(root, field(7, nil)...))},
		{"Key.texts[0].vocabulary: a digest of zeros", with(security, field(6, field(5, make([]byte, 32))), tree(root))},
		{"Key.texts[0].vocabulary: ", with(security, field(6, field(5, root[:31])), tree(root))},
		{"a vocabulary, and says something of tokens", with(security, field(6, slices.Concat(field(2, []byte{1}), field(5, root))), tree(root))},
		{"a vocabulary, and says something of tokens", with(security, field(6, slices.Concat([]byte{3 << 3, 1}, field(5, root))), tree(root))},
		{"Key.texts[0].input: is a field", with(security, field(6, field(6, root)), tree(root))},
		{"Key.texts[0].template: a digest of zeros", with(security, field(6, field(4, make([]byte, 32))), tree(root))},
		{"2 texts", with(security, append(field(6, nil), field(6, nil)...), tree(root))},
		{"Key.source.salted: is a field", with(security, field(5, field(10, root)), tree(root))},
		{"Key.graph: is missing", keyFile(field(3, security))},
		{"Key.security: is missing", keyFile(field(1, graph))},
		{"version 5, this program reads version 4", append(append([]byte(KeyMagic), 5, 0, 0, 0), b[keyHeaderSize:]...)},
		{"version 1, which prove-model v0.1 reads", append(append([]byte(KeyMagic), 1, 0, 0, 0), b[keyHeaderSize:]...)},
		{"not a prove-model key", b[1:]},
		{"steps[0].accumulator: is missing", whole(field(4, nil), root, security)},
		{"Key.graph.inputs: identifier 0 of 0", whole([]byte{5<<3 | 2, 1, 0}, root, security)},
		{"wire type", whole([]byte{5 << 3, 1}, root, security)}, // not packed
		{"not UTF-8", whole(field(1, []byte{0xff}), root, security)},
		{"SHA-256 of 31 bytes", with(security, field(5, field(1, field(1, make([]byte, 31)))), tree(root))},
		{"source: 0 files", with(security, field(5, nil), tree(root))},
		{"unknown value 2", with(security, field(5, []byte{3 << 3, 2}), tree(root))},
		{"tables[0].drop: default value is spelt out", whole(field(3, []byte{8 << 3, 0}), root, security)},
		{"field 8 twice", whole(field(3, []byte{8 << 3, 1, 8 << 3, 1}), root, security)},
		{"field 7 after field 8", whole(field(3, []byte{8 << 3, 1, 7<<3 | 2, 2, 0, 1}), root, security)},
		{"drop: 4294967296 does not fit", whole(field(3, []byte{8 << 3, 0x80, 0x80, 0x80, 0x80, 0x10}), root, security)},
		{"4294967295 is too large", whole(field(3, []byte{8 << 3, 0xff, 0xff, 0xff, 0xff, 0x0f}), root, security)},
		{"1 of 3 bits of keys from 0 without a meaning", whole(dropping(t, graph, 0), root, security)},
		{"1 of 3 bits of keys from -4 without a meaning", whole(dropping(t, graph, 1), root, security)},
		{"1 of 3 bits of keys from -3 without a meaning", whole(dropping(t, graph, 2), root, security)},
		{"too many messages", whole(bytes.Repeat(field(2, nil), maxKeyMessages), root, security)},
	} {
		_, err := DecodeKey(c.b)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}

// dropping returns a graph in which a table's values do not depend on the last bit of keys.
func dropping(t *testing.T, graph []byte, table int) []byte {
	t.Helper()
	var c model.Template
	if err := graphMessage.Decode(graph, &c, maxKeyMessages); err != nil {
		t.Fatal(err)
	}
	c.Graph.Tables[table].Drop = 1
	return graphMessage.Append(nil, &c)
}

// The format must not change unnoticed: keys and proofs outlive programs.
func TestKeyGolden(t *testing.T) {
	k := sampleKey()
	encode(t, k)
	const want = "27ef714aa708177495721f8379b67c8a4bb0fb82929c950d13251629998ff140"
	if got := hex.EncodeToString(k.Digest[:]); got != want {
		t.Errorf("the sample key's digest is %s, was %s: a new Version?", got, want)
	}
}

// The memory that a key of a megabyte takes until it is refused is bounded, whatever messages it
// is made of: those of few bytes take the most.
func TestHostileKeyMemory(t *testing.T) {
	field := func(num protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), v)
	}
	many := func(b []byte) []byte { return bytes.Repeat(b, 1<<20/len(b)) }
	tensor := func(definition []byte) []byte { return field(1, field(2, definition)) }
	for what, body := range map[string][]byte{
		"tensors":      field(1, many(field(2, nil))),
		"tables":       field(1, many(field(3, nil))),
		"steps":        field(1, many(field(4, field(4, nil)))),
		"summands":     tensor(many(field(7, nil))),
		"views":        tensor(many(field(7, field(3, nil)))),
		"groups":       tensor(field(7, field(3, many(field(1, nil))))),
		"lists":        tensor(field(7, field(3, many(field(1, []byte{1<<3 | 2, 1, 1, 2<<3 | 2, 1, 1, 5<<3 | 2, 1, 1}))))),
		"one list":     tensor(field(2, bytes.Repeat([]byte{1}, 1<<20))),
		"pieces":       field(1, field(3, many(field(5, nil)))),
		"saturated":    field(1, field(3, field(7, bytes.Repeat([]byte{1}, 1<<20)))),
		"a name":       field(1, field(1, bytes.Repeat([]byte{'a'}, 1<<20))),
		"files":        field(5, many(field(1, make([]byte, 32)))),
		"ranges":       field(5, field(8, bytes.Repeat([]byte{1}, 1<<20))),
		"tokens":       field(6, field(2, bytes.Repeat([]byte{1}, 1<<20))),
		"a deep error": tensor(many(field(7, field(3, field(1, []byte{3 << 3, 9}))))),
	} {
		b := keyFile(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := DecodeKey(b)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || n > 200 {
			t.Errorf("%s: %d MB (%v)", what, n, err)
		}
	}
}

// FuzzDecodeKey: no bytes make DecodeKey panic, and what it accepts is the one
// encoding of what it returns.
func FuzzDecodeKey(f *testing.F) {
	b := encode(f, sampleKey())
	f.Add(b)
	f.Add(b[:len(b)/2])
	k := sampleKey()
	k.Source = sampleSource()
	f.Add(encode(f, k))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := DecodeKey(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		digest := k.Digest
		again, err := EncodeKey(k)
		if err != nil || !bytes.Equal(b, again) || k.Digest != digest {
			t.Fatalf("not canonical: %v", err)
		}
	})
}

// TestReadKeyForHostile: a key whose circuit is not valid is refused, and does not panic, whatever the header asks for of it: the
// circuit of the header's instance is built before anything is known of the key's.
func TestReadKeyForHostile(t *testing.T) {
	for what, change := range map[string]func(*model.Graph, *Header){
		"a reveal of no entries": func(g *model.Graph, h *Header) {
			g.Tensors[g.Outputs[0]].Shape = []int{0}
			h.Reveals = []model.Reveal{{}}
		},
		"public indexes of no axis, for several texts": func(g *model.Graph, h *Header) {
			g.Tensors[g.Outputs[1]].Def[1].View.Groups[1] = model.Group{Out: []int{1}, Map: model.MapPublic}
			h.Texts = 2
		},
		"a look-up in no table": func(g *model.Graph, h *Header) {
			g.Steps[len(g.Steps)-1].Table = model.None
			h.Reveals = []model.Reveal{{}}
		},
	} {
		k := sampleKey()
		h := Header{Sizes: []int{}}
		change(k.Circuit.Graph, &h)
		b := keyMessage.Append(binary.LittleEndian.AppendUint32([]byte(KeyMagic), Version), k)
		if _, err := ReadKeyFor(bytes.NewReader(b), MaxKeySize, &h); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
