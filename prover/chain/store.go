package chain

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// StoreMagic begins a file of the keys and values of a segment. Behind it are the digest of the segment's statement, and of each tensor,
// in the order of the circuit, its width in bytes and its entries, little-endian; last the SHA-256 of all before. Only the prover reads
// it: whatever it holds, a proof is made of it only if it has the root that the segment's proof states.
const StoreMagic = "prove-model kv 1"

// Stored returns the keys and values of a segment, counted from 0, as a file, with which a chain is opened again without computing them.
func (c *Chain) Stored(segment int) []byte {
	out := append([]byte(StoreMagic), c.segments[segment].statement[:]...)
	for _, v := range c.of(segment) {
		narrow := ints.Of(v)
		out = append(append(out, byte(narrow.Width())), ints.Bytes(narrow)...)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

// of returns the keys and values of a segment. All have as many.
func (c *Chain) of(segment int) [][]int32 {
	n := len(c.values) / len(c.segments)
	return c.values[segment*n:][:n]
}

// Errors of Read.
var (
	ErrNoStore = errors.New("they are not stored")
	errAltered = errors.New("what is stored is incomplete or was altered")
	errOther   = errors.New("what is stored is of another segment")
)

// Read returns the keys and values that a file has of the segment with this statement, of so many entries each. The error says why it
// has none that may be used.
func Read(file []byte, statement [sha256.Size]byte, sizes []int) ([][]int32, error) {
	if len(file) == 0 {
		return nil, ErrNoStore
	}
	head, end := len(StoreMagic)+sha256.Size, len(file)-sha256.Size
	if end < head || string(file[:len(StoreMagic)]) != StoreMagic || sha256.Sum256(file[:end]) != [sha256.Size]byte(file[end:]) {
		return nil, errAltered
	}
	if !bytes.Equal(file[len(StoreMagic):head], statement[:]) {
		return nil, errOther
	}
	body := file[head:end]
	values := make([][]int32, len(sizes))
	for i, n := range sizes {
		if len(body) == 0 {
			return nil, errAltered
		}
		width := int(body[0])
		if width != 1 && width != 2 && width != 4 || (len(body)-1)/width < n {
			return nil, fmt.Errorf("%w: tensor %d", errAltered, i)
		}
		values[i] = ints.All(ints.FromBytes(bytes.Clone(body[1:][:n*width]), width))
		body = body[1+n*width:]
	}
	if len(body) > 0 {
		return nil, errAltered
	}
	return values, nil
}
