package proof

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/prover/math/transcript"
	"github.com/prove-model/prove-model/prover/protocol/plan"
)

// A stream is a sequence of limbs below 2^31, the transcript bytes of one frame. In memory a limb takes
// transcript.LimbBytes. In a file it takes limbBits: limbs follow each other without gaps, the first in the lowest bits of the
// first bytes, and zeros fill up the last byte. A stream of words (plan.Frame.Words) is not packed.
const limbBits = 31

// streamBytes returns the length in a file of a stream of n bytes in memory.
func streamBytes(n int64) int64 { return (n/transcript.LimbBytes*limbBits + 7) / 8 }

// fileBytes returns the greatest length in a file of a frame's stream.
func fileBytes(f plan.Frame) int64 {
	if f.Words {
		return f.Bytes
	}
	return streamBytes(f.Bytes)
}

var errLimbs = errors.New("a stream that is no sequence of limbs")

// limbsPerTask is how many groups of eight limbs, which take 31 bytes each in a file, are packed or unpacked by one goroutine.
const limbsPerTask = 1 << 11

// packLimbs returns a stream as it is in a file, in the memory of room if that is large enough.
func packLimbs(room, stream []byte) ([]byte, error) {
	if len(stream)%transcript.LimbBytes != 0 {
		return nil, errLimbs
	}
	const group = 8 * transcript.LimbBytes
	groups := len(stream) / group
	packed := slices.Grow(room[:0], int(streamBytes(int64(len(stream))))+transcript.LimbBytes)[:limbBits*groups]
	var top atomic.Uint32 // the bitwise or of all limbs, of which the top bit must be zero
	parallel.For(groups, limbsPerTask, func(lo, hi int) {
		seen := uint32(0)
		for k := lo; k < hi; k++ {
			in, out := stream[group*k:][:group], packed[limbBits*k:][:limbBits]
			var v [8]uint64
			for i := range v {
				x := binary.LittleEndian.Uint32(in[transcript.LimbBytes*i:])
				seen |= x
				v[i] = uint64(x)
			}
			// Eight limbs are 248 bits. Each word of 64 bits takes two whole limbs and parts of others. The last word begins at
			// byte 23, so that it ends with byte 30; it writes byte 23 a second time.
			binary.LittleEndian.PutUint64(out, v[0]|v[1]<<31|v[2]<<62)
			binary.LittleEndian.PutUint64(out[8:], v[2]>>2|v[3]<<29|v[4]<<60)
			binary.LittleEndian.PutUint64(out[16:], v[4]>>4|v[5]<<27|v[6]<<58)
			binary.LittleEndian.PutUint64(out[23:], v[5]>>29|v[6]<<2|v[7]<<33)
		}
		top.Or(seen)
	})
	if top.Load()>>limbBits != 0 {
		return nil, errLimbs
	}
	var rest uint64 // bits of the last limbs, fewer than eight of them, that are not written yet
	n := 0          // the number of these bits
	for tail := stream[group*groups:]; len(tail) > 0; tail = tail[transcript.LimbBytes:] {
		v := binary.LittleEndian.Uint32(tail)
		if v>>limbBits != 0 {
			return nil, errLimbs
		}
		rest |= uint64(v) << n
		if n += limbBits; n >= 32 {
			packed = binary.LittleEndian.AppendUint32(packed, uint32(rest))
			rest, n = rest>>32, n-32
		}
	}
	// The last n < 32 bits take (n+7)/8 bytes of the four that are appended.
	packed = binary.LittleEndian.AppendUint32(packed, uint32(rest))
	return packed[:len(packed)-4+(n+7)/8], nil
}

// unpackLimbs is the inverse of packLimbs. It refuses bytes that packLimbs does not write: a needless last byte, or bits other than zero
// behind the last limb. It does not check that limbs which are elements of F are below p; transcript.Reader does.
func unpackLimbs(packed []byte) ([]byte, error) {
	stream := make([]byte, len(packed)*8/limbBits*transcript.LimbBytes)
	// Eight limbs take 31 bytes. The last of them is loaded with eight bytes, four of which lie behind these 31, so the end of
	// packed is left to bitReader. Limb i of a group begins at bit 31·i, which is bit 8 − i of byte 4i − 1.
	const mask, group = 1<<limbBits - 1, 8 * transcript.LimbBytes
	groups := max(0, len(packed)-4) / limbBits
	parallel.For(groups, limbsPerTask, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			b, out := packed[limbBits*k:][:limbBits+4], stream[group*k:][:group]
			binary.LittleEndian.PutUint32(out, binary.LittleEndian.Uint32(b)&mask)
			for i := 1; i < 8; i++ {
				v := binary.LittleEndian.Uint64(b[4*i-1:]) >> (8 - i) & mask
				binary.LittleEndian.PutUint32(out[transcript.LimbBytes*i:], uint32(v))
			}
		}
	})
	packed, out := packed[limbBits*groups:], stream[group*groups:]
	r := bitReader{bytes: packed}
	for ; len(out) > 0; out = out[transcript.LimbBytes:] {
		binary.LittleEndian.PutUint32(out, uint32(r.get(limbBits)))
	}
	if !r.done() {
		return nil, errLimbs
	}
	return stream, nil
}
