package statement

import (
	"errors"
	"fmt"

	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/vocabulary"
)

// ErrVocabulary is wrapped by the error about a vocabulary that is not the key's.
var ErrVocabulary = errors.New("the vocabulary is not the key's")

// Vocabulary parses the file of a vocabulary and checks that its digest is the one in the key: with another file, the same numbers
// would get other names. If it is not, the error wraps verifier.ErrInvalid and ErrVocabulary.
func Vocabulary(key *proof.Key, file []byte) (*vocabulary.Vocabulary, error) {
	want := key.Vocabulary()
	if want == nil {
		return nil, fmt.Errorf("%w: %w: it has none, as its model takes numbers and gives numbers", verifier.ErrInvalid, ErrVocabulary)
	}
	if got := vocabulary.Digest(file); got != *want {
		return nil, fmt.Errorf("%w: %w: its digest is %x, and the key has %x", verifier.ErrInvalid, ErrVocabulary, got, *want)
	}
	return vocabulary.ParseFile(file)
}

// Name sets the Strings and Columns of outputs that the vocabulary, which may be nil, has an entry for, by their names.
func Name(outputs []Tensor, v *vocabulary.Vocabulary) {
	for i := range outputs {
		o := v.Output(outputs[i].Name)
		if o == nil {
			continue
		}
		outputs[i].Strings, outputs[i].Columns = o.Names(outputs[i].Values), o.Columns
	}
}
