package nvrtc

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
)

// Source is a program to compile.
type Source struct {
	Name    string            // of the program, for messages
	Text    string            // CUDA C++
	Headers map[string]string // text by the name that the program includes it by
}

// options are the compiler's options, in addition to the architecture.
var options = []string{"--std=c++17", "--generate-line-info", "--display-error-number"}

// key returns what identifies the machine code that the given version of NVRTC makes of
// s for arch, as hexadecimal digits.
func (s Source) key(arch, compiler string) string {
	h := sha256.New()
	put := func(text string) { writeText(h, text) }
	put("prove-model cubin 1")
	put(arch)
	put(compiler)
	put(s.Name)
	put(s.Text)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		put(name)
		put(s.Headers[name])
	}
	put("") // no header has this name
	for _, o := range options {
		put(o)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeText writes a text with its length before it, so that different lists of
// texts never give the same bytes.
func writeText(h hash.Hash, text string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(text)))
	h.Write(n[:])
	h.Write([]byte(text))
}
