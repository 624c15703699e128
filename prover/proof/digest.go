package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/poseidon2"
)

const digestSize = 4 * poseidon2.DigestLen

// appendDigest appends the limbs of d, 4 bytes little-endian each.
func appendDigest(b []byte, d poseidon2.Digest) []byte {
	for _, l := range d {
		b = binary.LittleEndian.AppendUint32(b, uint32(l))
	}
	return b
}

// decodeDigest reads what appendDigest wrote and refuses limbs from p on.
func decodeDigest(b []byte) (d poseidon2.Digest, err error) {
	if len(b) != digestSize {
		return d, fmt.Errorf("%d bytes, not %d", len(b), digestSize)
	}
	for i := range d {
		l := binary.LittleEndian.Uint32(b[4*i:])
		if l >= field.P {
			return d, fmt.Errorf("limb %d is not canonical", i)
		}
		d[i] = field.M31(l)
	}
	return d, nil
}

// setSHA256 reads a SHA-256.
func setSHA256(d *[sha256.Size]byte, b []byte) error {
	if len(b) != sha256.Size {
		return fmt.Errorf("a SHA-256 of %d bytes", len(b))
	}
	copy(d[:], b)
	return nil
}
