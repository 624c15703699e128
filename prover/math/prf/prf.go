// Package prf makes pseudorandom elements of F from a secret key of 32 bytes: the masks of proofs that hide something.
// An element is a function of the key, a use, a row and an index. So masks can be computed anywhere and in any
// order, and computed again instead of being stored.
//
// The stream of a use and a row is the extended output of BLAKE3, keyed with the secret key, for a message of the use and
// the row, as little-endian words of 32 bits. Element i is the lowest 31 bits of word i. If these are all ones, that is p and no
// element: element i is then the first one in the stream for the message of use, row and i. So elements are exactly uniform
// if the stream's words are. The only assumption is that keyed BLAKE3 is a pseudorandom function.
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

// Derive returns a key that depends on a context, on a secret and on parts. The context names the key's use, and must be a constant of
// the program. Each part enters with its length: the same bytes divided into other parts give another key.
func Derive(context string, secret []byte, parts ...[]byte) (k Key) {
	var material []byte
	for _, p := range append([][]byte{secret}, parts...) {
		material = binary.LittleEndian.AppendUint64(material, uint64(len(p)))
		material = append(material, p...)
	}
	blake3.DeriveKey(k[:], context, material)
	return k
}

// Use says what elements are for. Elements of different uses are independent.
type Use uint8

// The uses.
const (
	Tail      Use = iota + 1 // the tail behind the values of a row
	Salt                     // the salt of a leaf
	Mask                     // a row of masks
	Auxiliary                // the auxiliary row
	Pad                      // the pad of a message
	Dummy                    // a dummy triple
)

// block is how many words of a stream are computed at a time: MaxSIMD output blocks of BLAKE3.
const block = guts.MaxSIMD * guts.BlockSize / 4

// Elements sets dst to the elements of a use and a row, from element number from on.
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

// instead returns element index of a row if the lowest 31 bits of its word are all ones.
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

// stream is the extended output for a message of one block: the message's node, compressed with increasing counters.
type stream struct {
	node  guts.Node
	bytes [4 * block]byte
}

// stream returns the stream for the message of a use and numbers, at most seven.
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

// next returns the bytes of the next block words.
func (s *stream) next() []byte {
	guts.CompressBlocks(&s.bytes, s.node)
	s.node.Counter += guts.MaxSIMD
	return s.bytes[:]
}

// Ints is Elements, with each element as its representative of least absolute value, which is below 2^30.
func (k *Key) Ints(use Use, row, from uint64, dst []int32) {
	elements := unsafe.Slice((*field.M31)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)) // both types have 4 bytes
	k.Elements(use, row, from, elements)
	for i, v := range elements {
		dst[i] = int32(v.Int64())
	}
}

// Salts sets dst to the salts of the leaves from position from on. A salt is eight elements of F, so that it is a digest in any suite.
func (k *Key) Salts(from uint64, dst []hash.Digest) {
	const each = len(hash.Digest{})
	words := unsafe.Slice((*field.M31)(unsafe.Pointer(unsafe.SliceData(dst))), each*len(dst))
	k.Elements(Salt, 0, uint64(each)*from, words)
}
