// Package prf makes random-looking elements of F from a secret key of 32 bytes: the masks of proofs that hide something.
// What it gives for a use, a row and an index is a function of these and the key, so masks can be made anywhere and in any
// order, and again in place of being kept.
//
// The stream of a use and a row is the extended output of BLAKE3, keyed with the secret key, for a message of the use and
// the row, as little-endian words of 32 bits. Element i is the lowest 31 bits of word i, unless these are all ones, which is
// no element: then it is the first element in the stream of the same use and row and of i besides. So elements are uniform,
// not nearly so, if the stream's words are. That BLAKE3 with a secret key is a pseudorandom function is all that is assumed.
package prf

import (
	"encoding/binary"
	"unsafe"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"lukechampine.com/blake3"
	"lukechampine.com/blake3/guts"
)

// Key is a secret key.
type Key [32]byte

// Derive returns a key for the use that a context names, from a secret and whatever it is to depend on besides. The context is
// a constant of the program. Parts are told apart: the same bytes in other parts give another key.
func Derive(context string, secret []byte, parts ...[]byte) (k Key) {
	var material []byte
	for _, p := range append([][]byte{secret}, parts...) {
		material = binary.LittleEndian.AppendUint64(material, uint64(len(p)))
		material = append(material, p...)
	}
	blake3.DeriveKey(k[:], context, material)
	return k
}

// Use is what elements are for. Those of different uses have nothing to do with each other.
type Use uint8

// The uses.
const (
	Tail      Use = iota + 1 // behind the values of a row
	Salt                     // of a leaf
	Mask                     // of a row of masks
	Auxiliary                // of the auxiliary row
	Pad                      // of a message
	Dummy                    // of a triple that is used nowhere
)

// block is how many words of a stream are made at a time: a vector of blocks of BLAKE3.
const block = guts.MaxSIMD * guts.BlockSize / 4

// Elements sets dst to the elements of a row from number `from` on.
func (k *Key) Elements(use Use, row, from uint64, dst []field.M31) {
	words := k.stream(use, row)
	words.node.Counter = from / block * guts.MaxSIMD
	for len(dst) > 0 {
		made := words.next()[4*(from%block):]
		part := dst[:min(len(dst), len(made)/4)]
		for i := range part {
			w := binary.LittleEndian.Uint32(made[4*i:]) & field.P
			if w == field.P {
				w = k.instead(use, row, from+uint64(i))
			}
			part[i] = field.M31(w)
		}
		dst, from = dst[len(part):], from+uint64(len(part))
	}
}

// instead returns the element in the place of a word that is none.
func (k *Key) instead(use Use, row, index uint64) uint32 {
	words := k.stream(use, row, index)
	for {
		made := words.next()
		for ; len(made) > 0; made = made[4:] {
			if w := binary.LittleEndian.Uint32(made) & field.P; w != field.P {
				return w
			}
		}
	}
}

// stream is the output for a message, of one block: copies of the message's node with a counter.
type stream struct {
	node  guts.Node
	bytes [4 * block]byte
}

// stream returns the stream of a use and numbers, at most seven.
func (k *Key) stream(use Use, numbers ...uint64) *stream {
	var message [guts.BlockSize]byte
	message[0] = byte(use)
	n := 1
	for _, v := range numbers {
		binary.LittleEndian.PutUint64(message[n:], v)
		n += 8
	}
	var key [8]uint32
	for i := range key {
		key[i] = binary.LittleEndian.Uint32(k[4*i:])
	}
	s := &stream{node: guts.CompressChunk(message[:n], &key, 0, guts.FlagKeyedHash)}
	s.node.Flags |= guts.FlagRoot
	return s
}

// next returns the bytes of the next block of words.
func (s *stream) next() []byte {
	guts.CompressBlocks(&s.bytes, s.node)
	s.node.Counter += guts.MaxSIMD
	return s.bytes[:]
}

// Ints sets dst to Elements as integers of the least absolute value, below 2^30 in all cases.
func (k *Key) Ints(use Use, row, from uint64, dst []int32) {
	elements := unsafe.Slice((*field.M31)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)) // as many bytes each
	k.Elements(use, row, from, elements)
	for i, v := range elements {
		dst[i] = int32(v.Int64())
	}
}

// Salts sets dst to the salts of leaves from a position on: eight elements each, so that they are digests of any suite.
func (k *Key) Salts(from uint64, dst []hash.Digest) {
	const each = len(hash.Digest{})
	words := unsafe.Slice((*field.M31)(unsafe.Pointer(unsafe.SliceData(dst))), each*len(dst))
	k.Elements(Salt, 0, uint64(each)*from, words)
}
