package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/prove-model/prove-model/internal/golden"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/internal/schema"
	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/proof"
)

// A file is a golden key and its proof, which is split into frames.
type file struct {
	name   string
	key    []byte
	proof  []byte
	packed bool            // streams are limbs packed in 31 bits each, not words of 32 bits
	frames []*schema.Frame // all but the last, which has the checksum
}

// deep is the size from which on a proof is altered less often, because verifying it takes long.
const deep = 1 << 17

// parsed splits the proofs of the cases into frames.
func parsed(cases []*golden.Case) (list []*file) {
	for _, c := range cases {
		refuse.Within(c.Name, func() { list = append(list, parse(c)) })
	}
	return list
}

func parse(c *golden.Case) *file {
	key := must.Get(proof.DecodeKey(c.Want.Key))
	f := &file{name: c.Name, key: c.Want.Key, proof: c.Want.Proof, packed: key.Security.Hash.ElementDigests()}
	for rest := c.Want.Proof[len(proof.ProofMagic):]; len(rest) > 0; {
		body, n := protowire.ConsumeBytes(rest)
		must.OK(protowire.ParseError(n))
		frame := &schema.Frame{}
		must.OK(schema.Decode(body, frame))
		if rest = rest[n:]; frame.End == nil {
			f.frames = append(f.frames, frame)
		}
	}
	return f
}

// assembled returns the proof with these frames, and adds the checksum.
func assembled(frames [][]byte) []byte {
	b := []byte(proof.ProofMagic)
	for _, f := range frames {
		b = protowire.AppendBytes(b, f)
	}
	sum := sha256.Sum256(b)
	return protowire.AppendBytes(b, schema.Append(nil, &schema.Frame{End: sum[:]}))
}

// encoded returns the frames as bytes.
func (f *file) encoded() [][]byte {
	list := make([][]byte, len(f.frames))
	for i, frame := range f.frames {
		list[i] = schema.Append(nil, frame)
	}
	return list
}

// stream returns the field of a frame with a stream of words, or nil if it has none.
func stream(f *schema.Frame) *[]byte {
	switch {
	case f.Commitments != nil:
		return &f.Commitments
	case f.Chunk != nil:
		return &f.Chunk.Body
	case f.Io != nil:
		return &f.Io
	case f.Opening != nil:
		return &f.Opening
	}
	return nil
}

// An alteration changes a key, a proof or both.
type alteration struct {
	name  string
	apply func(f *file, rng *rand.Rand) (key, proof []byte)
}

// alterations are the ways in which files are altered. Most leave a file that can be read: its checksum and the digest of the
// key are corrected, so that only the checks of the proof itself can refuse it.
var alterations = []alteration{
	{"a byte", func(f *file, rng *rand.Rand) ([]byte, []byte) { return f.key, flipped(f.proof, rng) }},
	{"a byte of a frame", func(f *file, rng *rand.Rand) ([]byte, []byte) {
		frames := f.encoded()
		i := rng.IntN(len(frames))
		frames[i] = flipped(frames[i], rng)
		return f.key, assembled(frames)
	}},
	{"the end", func(f *file, rng *rand.Rand) ([]byte, []byte) {
		if rng.IntN(2) == 0 {
			return f.key, f.proof[:rng.IntN(len(f.proof))]
		}
		return f.key, append(bytes.Clone(f.proof), byte(rng.IntN(256)))
	}},
	{"the order of frames", func(f *file, rng *rand.Rand) ([]byte, []byte) {
		frames := f.encoded()
		i, j := rng.IntN(len(frames)), rng.IntN(len(frames))
		switch rng.IntN(3) {
		case 0:
			frames[i], frames[j] = frames[j], frames[i]
		case 1:
			frames = append(frames[:i:i], frames[i+1:]...)
		default:
			frames = append(frames[:j:j], append([][]byte{frames[i]}, frames[j:]...)...)
		}
		return f.key, assembled(frames)
	}},
	{"a key's byte", func(f *file, rng *rand.Rand) ([]byte, []byte) {
		key := bytes.Clone(f.key)
		key[8+rng.IntN(len(key)-8)] ^= 1 << rng.IntN(8)
		return key, f.with(key, schema.Clone(f.frames[0].Header))
	}},
	{"the header", func(f *file, rng *rand.Rand) ([]byte, []byte) {
		h := schema.Clone(f.frames[0].Header)
		m := &mutation{rng: rng}
		for range 1 + rng.IntN(2) {
			m.field(h)
		}
		return f.key, f.with(nil, h)
	}},
	{"a public value's bit", func(f *file, rng *rand.Rand) ([]byte, []byte) {
		frames := f.encoded()
		frames[1] = bytes.Clone(frames[1])
		frames[1][min(4, len(frames[1])-1)+rng.IntN(max(1, len(frames[1])-4))] ^= 1 << rng.IntN(8)
		return f.key, assembled(frames)
	}},
	{"a word", words(func(list []uint32, f *file, rng *rand.Rand) []uint32 {
		at, most := rng.IntN(len(list)), uint64(1)<<32
		if f.packed {
			most = field.P
		}
		by := []uint64{1, most - 1, 1 + rng.Uint64N(field.P-1)}[rng.IntN(3)]
		list[at] = uint32((uint64(list[at]) + by) % most)
		return list
	})},
	{"the place of words", words(func(list []uint32, f *file, rng *rand.Rand) []uint32 {
		for a, b, k := 4*rng.IntN(max(1, len(list)/4)), 4*rng.IntN(max(1, len(list)/4)), 0; k < 4 && max(a, b)+k < len(list); k++ {
			list[a+k], list[b+k] = list[b+k], list[a+k]
		}
		return list
	})},
	{"the length of a stream", words(func(list []uint32, f *file, rng *rand.Rand) []uint32 {
		n := []int{1, 4, 8, 1 + rng.IntN(100)}[rng.IntN(4)]
		if rng.IntN(2) == 0 {
			return list[:max(0, len(list)-n)]
		}
		for range n {
			list = append(list, rng.Uint32N(field.P))
		}
		return list
	})},
}

func flipped(b []byte, rng *rand.Rand) []byte {
	b = bytes.Clone(b)
	b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	return b
}

// digest is the digest by which proofs and links name a key.
func digest(key []byte) []byte {
	sum := sha256.Sum256(append([]byte("prove-model key\n"), key...))
	return sum[:]
}

// with returns the proof with the header h. If key is not nil, the header is changed to name that key.
func (f *file) with(key []byte, h *schema.Header) []byte {
	if key != nil {
		h.Key = digest(key)
	}
	frames := f.encoded()
	frames[0] = schema.Append(nil, &schema.Frame{Header: h})
	return assembled(frames)
}

// words makes an alteration that changes the words of a stream. Each stream is chosen with the same probability, whatever its size.
func words(change func(list []uint32, f *file, rng *rand.Rand) []uint32) func(f *file, rng *rand.Rand) ([]byte, []byte) {
	return func(f *file, rng *rand.Rand) ([]byte, []byte) {
		var some []int
		for i, frame := range f.frames {
			if s := stream(frame); s != nil && len(*s) > 0 {
				some = append(some, i)
			}
		}
		if len(some) == 0 {
			return f.key, flipped(f.proof, rng)
		}
		i := some[rng.IntN(len(some))]
		frame := schema.Clone(f.frames[i])
		s := stream(frame)
		*s = joined(change(split(*s, f.packed), f, rng), f.packed)
		frames := f.encoded()
		frames[i] = schema.Append(nil, frame)
		return f.key, assembled(frames)
	}
}

// widthOf is the number of bits of a word in a stream.
func widthOf(packed bool) int {
	if packed {
		return 31
	}
	return 32
}

// split returns the words of a stream.
func split(b []byte, packed bool) (list []uint32) {
	width := widthOf(packed)
	for at := 0; at+width <= 8*len(b); at += width {
		var eight [8]byte
		copy(eight[:], b[at/8:])
		list = append(list, uint32(binary.LittleEndian.Uint64(eight[:])>>(at%8)&(1<<width-1)))
	}
	return list
}

// joined is the inverse of split: it returns the stream with these words.
func joined(list []uint32, packed bool) []byte {
	width := widthOf(packed)
	b := make([]byte, (width*len(list)+7)/8)
	for i, v := range list {
		for k := range width {
			at := width*i + k
			b[at/8] |= byte(v>>k&1) << (at % 8)
		}
	}
	return b
}

// altered returns an altered golden file, with the verdicts of package verifier. One time in ten the alteration is that a frame
// is replaced by one of another proof.
func altered(files []*file, rng *rand.Rand) *line {
	f := files[rng.IntN(len(files))]
	for len(f.proof) > deep && rng.IntN(5) > 0 {
		f = files[rng.IntN(len(files))]
	}
	l := &line{}
	if rng.IntN(10) == 0 {
		other, frames := files[rng.IntN(len(files))], f.encoded()
		i, others := 1+rng.IntN(len(frames)-1), other.encoded()
		frames[i] = others[min(i, len(others)-1)]
		*l = line{Name: f.name + ": a frame of " + other.name, Key: f.key, Proof: assembled(frames)}
	} else {
		a := alterations[rng.IntN(len(alterations))]
		key, proof := a.apply(f, rng)
		*l = line{Name: f.name + ": " + a.name, Key: key, Proof: proof}
	}
	l.judge()
	return l
}
