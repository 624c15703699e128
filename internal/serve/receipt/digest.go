package receipt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// Digest returns the SHA-256, in hexadecimal, of numbers, each encoded as a little-endian float64.
func Digest(values []float64) string {
	h := sha256.New()
	b := make([]byte, 0, 8*512)
	for i, v := range values {
		if b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v)); len(b) == cap(b) || i == len(values)-1 {
			h.Write(b)
			b = b[:0]
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// StringsDigest returns the SHA-256, in hexadecimal, of strings, each encoded as its length in bytes, a little-endian 64-bit
// integer, followed by its bytes.
func StringsDigest(list []string) string {
	h := sha256.New()
	for _, s := range list {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TextDigest returns the SHA-256 of a text in UTF-8, in hexadecimal.
func TextDigest(text string) string {
	d := sha256.Sum256([]byte(text))
	return hex.EncodeToString(d[:])
}
