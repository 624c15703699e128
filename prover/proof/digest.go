package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/math/field"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/proof/wire"
)

const digestSize = hash.DigestBytes

// encodeDigest returns the words of d, 4 bytes little-endian each.
func encodeDigest(d hash.Digest) []byte {
	b := make([]byte, 0, digestSize)
	for _, l := range d {
		b = binary.LittleEndian.AppendUint32(b, l)
	}
	return b
}

// decodeDigest reads what encodeDigest wrote.
func decodeDigest(b []byte) (d hash.Digest, err error) {
	if len(b) != digestSize {
		return d, fmt.Errorf("%d bytes, not %d", len(b), digestSize)
	}
	for i := range d {
		d[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return d, nil
}

// checkDigest refuses a digest with a word that is not below p if the suite's digests consist of elements of F.
func checkDigest(suite hash.Suite, d hash.Digest) error {
	for i, w := range d {
		if w >= field.P && suite.ElementDigests() {
			return fmt.Errorf("limb %d is not canonical", i)
		}
	}
	return nil
}

// setSHA256 sets d to b, which must have the length of a SHA-256.
func setSHA256(d *[sha256.Size]byte, b []byte) error {
	if len(b) != sha256.Size {
		return fmt.Errorf("a SHA-256 of %d bytes", len(b))
	}
	copy(d[:], b)
	return nil
}

// rootField is a field that holds the root of a tree and must be present. Whether its words suit the suite is checked by checkDigest,
// once the suite is known.
func rootField[T any](number int, root func(*T) *hash.Digest) wire.Field[T] {
	return wire.Data(number, "root", func(t *T) []byte { return encodeDigest(*root(t)) }, func(t *T, b []byte) (err error) {
		*root(t), err = decodeDigest(b)
		return err
	}).Needed()
}

// sha256Field is a field that holds a SHA-256 and must be present.
func sha256Field[T any](number int, name string, of func(*T) *[sha256.Size]byte) wire.Field[T] {
	return wire.Data(number, name, func(t *T) []byte { return of(t)[:] }, func(t *T, b []byte) error { return setSHA256(of(t), b) }).Needed()
}

// optionalSHA256 is a field that holds a SHA-256 and is absent if that is zeros.
func optionalSHA256[T any](number int, name string, at func(*T) *[sha256.Size]byte) wire.Field[T] {
	none := [sha256.Size]byte{}
	return wire.Data(number, name, func(t *T) []byte {
		if *at(t) == none {
			return nil
		}
		return at(t)[:]
	}, func(t *T, b []byte) error {
		err := setSHA256(at(t), b)
		if err == nil && *at(t) == none {
			err = errors.New("a digest of zeros, which is absent")
		}
		return err
	})
}

// versionField is the first field of a file or a header: the version of the format, which must be this one.
func versionField[T any]() wire.Field[T] {
	return wire.Value(1, "version", scale, func(*T) int64 { return Version }, func(_ *T, v int64) error {
		if v != Version {
			return refuseVersion(uint32(v))
		}
		return nil
	}).Needed()
}
