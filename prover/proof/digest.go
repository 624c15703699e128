package proof

import (
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
