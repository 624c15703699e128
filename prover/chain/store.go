package chain

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/ints"
)

// StoreMagic begins a file with the keys and values of a segment. Behind it come the digest of the segment's statement; then for each
// tensor, in the order of the circuit, one byte with the width of an entry in bytes (1, 2 or 4) and the entries, little-endian; and
// last the SHA-256 of everything before. Only the prover reads the file. It need not be trusted: the prover makes no proof of values
// that do not have the root that the segment's proof states (prover.ErrOtherValues).
const StoreMagic = "prove-model kv 1"

// Stored returns a file with the keys and values of a segment, counted from 0. With it a later process continues the chain without
// computing them again (Read).
func (c *Chain) Stored(segment int) []byte {
	out := append([]byte(StoreMagic), c.segments[segment].statement[:]...)
	for _, v := range c.of(segment) {
		narrow := ints.Of(v)
		out = append(append(out, byte(narrow.Width())), ints.Bytes(narrow)...)
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

// of returns the keys and values of a segment, tensor by tensor. All segments have equally many tensors.
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

// Read returns the keys and values in a file that Stored made. statement is the digest of the segment's statement, and sizes has the
// number of entries of each tensor. The error says why the file cannot be used: it is empty (ErrNoStore), damaged, or of another
// segment.
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
