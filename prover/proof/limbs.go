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

// A stream is a sequence of limbs below 2^31. In a file each takes limbBits, the first
// the lowest bits of the first bytes; zeros fill up the last byte. If it is of words
// (plan.Frame) it is in a file what it is in memory.
const limbBits = 31

// streamBytes returns the length in a file of a stream of that many bytes in memory,
// where a limb takes transcript.LimbBytes.
func streamBytes(n int64) int64 { return (n/transcript.LimbBytes*limbBits + 7) / 8 }

// fileBytes returns the greatest length in a file of a frame's stream.
func fileBytes(f plan.Frame) int64 {
	if f.Words {
		return f.Bytes
	}
	return streamBytes(f.Bytes)
}

var errLimbs = errors.New("a stream that is no sequence of limbs")

// limbsPerTask is how many groups of eight limbs, which take 31 bytes, are worth a goroutine.
const limbsPerTask = 1 << 11

// packLimbs returns a stream as it is in a file, in room if that is large enough.
func packLimbs(room, stream []byte) ([]byte, error) {
	if len(stream)%transcript.LimbBytes != 0 {
		return nil, errLimbs
	}
	const group = 8 * transcript.LimbBytes
	groups := len(stream) / group
	packed := slices.Grow(room[:0], int(streamBytes(int64(len(stream))))+transcript.LimbBytes)[:limbBits*groups]
	var top atomic.Uint32 // all bits of limbs that must be zero
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
			// 64 bits are two limbs and some of the next.
			binary.LittleEndian.PutUint64(out, v[0]|v[1]<<31|v[2]<<62)
			binary.LittleEndian.PutUint64(out[8:], v[2]>>2|v[3]<<29|v[4]<<60)
			binary.LittleEndian.PutUint64(out[16:], v[4]>>4|v[5]<<27|v[6]<<58)
			binary.LittleEndian.PutUint64(out[23:], v[5]>>29|v[6]<<2|v[7]<<33) // with the byte before again
		}
		top.Or(seen)
	})
	if top.Load()>>limbBits != 0 {
		return nil, errLimbs
	}
	var rest uint64 // bits that are not written yet
	n := 0          // how many
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
	packed = binary.LittleEndian.AppendUint32(packed, uint32(rest))
	return packed[:len(packed)-4+(n+7)/8], nil
}

// unpackLimbs returns the stream that packLimbs packed, the only one.
func unpackLimbs(packed []byte) ([]byte, error) {
	stream := make([]byte, len(packed)*8/limbBits*transcript.LimbBytes)
	// Eight limbs take 31 bytes; the last of them is read with the four bytes behind.
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
