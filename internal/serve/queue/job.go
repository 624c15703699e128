package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/must"
)

// Job is a run of a model that was answered with, and all that its proof is made from: whoever proves it gets the same bytes.
type Job struct {
	Model      string `json:"model"`      // name of it, for people
	Commitment string `json:"commitment"` // of its key, hexadecimal
	Owner      string `json:"owner"`      // name of the API key that asked, "" without keys
	Text       *Text  `json:"text,omitempty"`
	// Inputs are the arrays that another model was run on, one for each of its inputs, dense and row-major.
	Inputs provemodel.Input `json:"inputs,omitempty"`
	// Shared says with whose texts this one may stand in one proof (receipt.SharedKey, receipt.SharedAll); "": with nobody's.
	Shared string `json:"shared,omitempty"`
	// Joint are the texts of a job that stands for several others, which one proof is made of.
	Joint []Part `json:"joint,omitempty"`
}

// Part is a text of a joint job, and the job that it is of by itself.
type Part struct {
	Job string `json:"job"`
	*Text
}

// Text is what a language model wrote.
type Text struct {
	Prompt   []int                `json:"prompt"`
	Tokens   []int                `json:"tokens"`
	Sampling *provemodel.Sampling `json:"sampling,omitempty"` // nil: each token is the likeliest
	// Logits says that the proof is to state the logits, from which the answer has numbers. One of drawn tokens does so anyway.
	Logits bool `json:"logits,omitempty"`
}

// Texts are the texts that the proof of a job is of, nil if it is of arrays.
func (j *Job) Texts() (list []*Text) {
	if j.Text != nil {
		return []*Text{j.Text}
	}
	for _, p := range j.Joint {
		list = append(list, p.Text)
	}
	return list
}

// ID is what the proof of a job is called: 64 hexadecimal digits, the SHA-256 of the job. The same job, of the same owner,
// is proved once.
func (j *Job) ID() (_ string, err error) {
	defer must.Catch(&err)
	data := must.Get(j.encode())
	d := sha256.Sum256(append([]byte("prove-model job\n"), data...))
	return hex.EncodeToString(d[:]), nil
}

func (j *Job) encode() ([]byte, error) {
	kinds := 0
	for _, is := range []bool{j.Text != nil, j.Inputs != nil, j.Joint != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return nil, errors.New("a job is of a text, of several, or of arrays")
	}
	return json.Marshal(j)
}

var id = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsID says whether a text may be the id of a proof, or a commitment.
func IsID(s string) bool { return id.MatchString(s) }
