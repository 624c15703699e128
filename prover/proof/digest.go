package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
)

const digestSize = hash.DigestBytes

// appendDigest appends the words of d, 4 bytes little-endian each.
func appendDigest(b []byte, d hash.Digest) []byte {
	for _, l := range d {
		b = binary.LittleEndian.AppendUint32(b, l)
	}
	return b
}

// decodeDigest reads what appendDigest wrote.
func decodeDigest(b []byte) (d hash.Digest, err error) {
	if len(b) != digestSize {
		return d, fmt.Errorf("%d bytes, not %d", len(b), digestSize)
	}
	for i := range d {
		d[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return d, nil
}

// checkDigest refuses words from p on where a suite's digests are elements of F.
func checkDigest(suite hash.Suite, d hash.Digest) error {
	for i, w := range d {
		if w >= field.P && suite.ElementDigests() {
			return fmt.Errorf("limb %d is not canonical", i)
		}
	}
	return nil
}

// setSHA256 reads a SHA-256.
func setSHA256(d *[sha256.Size]byte, b []byte) error {
	if len(b) != sha256.Size {
		return fmt.Errorf("a SHA-256 of %d bytes", len(b))
	}
	copy(d[:], b)
	return nil
}
