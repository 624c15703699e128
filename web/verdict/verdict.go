// Package verdict is what a page asks of the verifier and what it is told, without anything of
// JavaScript: web/wasm hands over one and the other.
package verdict

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

// Options are what the page asks for.
type Options struct {
	MinBits int
	// Commitment that the key must have, in 64 hexadecimal digits; any if it is nil.
	Commitment *string
	// Names and Values are the input that the proof must be about; any if Names is nil.
	Names  []string
	Values [][]float64
}

// Verdict is what a valid proof states.
type Verdict struct {
	*verifier.Result
	Commitment string // of its key, in hexadecimal digits
	Clamped    int    // entries of the input that were
}

// Of verifies a proof with a key, both as files are. progress is told how many of the proof's bytes
// have been read.
func Of(keyFile, proofFile []byte, o *Options, progress func(read, size int)) (*Verdict, error) {
	policy := verifier.Policy{MinBits: o.MinBits}
	if o.Commitment != nil {
		digest, err := hex.DecodeString(*o.Commitment)
		if err != nil || len(digest) != 32 {
			return nil, fmt.Errorf("commitment %q: want 64 hexadecimal digits", *o.Commitment)
		}
		policy.Commitment = (*[32]byte)(digest)
	}
	key, err := proof.ReadKey(bytes.NewReader(keyFile), proof.MaxKeySize)
	if err != nil {
		return nil, err
	}
	result, err := policy.Verify(key, &follower{bytes.NewReader(proofFile), len(proofFile), 0, progress})
	if err != nil {
		return nil, err
	}
	v := &Verdict{Result: result, Commitment: hex.EncodeToString(key.Digest[:])}
	if o.Names != nil {
		if v.Clamped, err = statement.Compare(result, o.Names, o.Values); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Reason is the text of an error without the part that the verdict says.
func Reason(err error) string {
	why := strings.TrimPrefix(err.Error(), verifier.ErrInvalid.Error()+": ")
	var weak *verifier.WeakError
	if errors.As(err, &weak) {
		return fmt.Sprintf("%s; a least of %d bits accepts it", why, weak.Accepts())
	}
	return why
}

// follower tells how much of the proof has been read.
type follower struct {
	io.Reader
	size, read int
	progress   func(read, size int)
}

func (f *follower) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	f.read += n
	f.progress(f.read, f.size)
	return n, err
}
