package receipt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// Digest is the SHA-256 of numbers, each as the eight bytes of a float64, the least significant first, in hexadecimal.
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

// StringsDigest is the SHA-256 of strings, each as its length, as the eight bytes of an integer, the least significant first, and
// its bytes, in hexadecimal.
func StringsDigest(list []string) string {
	h := sha256.New()
	for _, s := range list {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TextDigest is the SHA-256 of a text in UTF-8, in hexadecimal.
func TextDigest(text string) string {
	d := sha256.Sum256([]byte(text))
	return hex.EncodeToString(d[:])
}
