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

// Job is a run of a model whose outputs were sent as an answer, with all that its proof is made from: whoever proves it
// makes the same bytes.
type Job struct {
	Model      string `json:"model"`      // its name, for people
	Commitment string `json:"commitment"` // of the model's key, hexadecimal
	Owner      string `json:"owner"`      // name of the API key of the request, "" if there are no keys
	Text       *Text  `json:"text,omitempty"`
	// Inputs are the inputs of a model that does not write texts: one dense, row-major array for each.
	Inputs provemodel.Input `json:"inputs,omitempty"`
	// Shared says which texts of other jobs this one may be proved together with: receipt.SharedKey, receipt.SharedAll, or
	// "" for none.
	Shared string `json:"shared,omitempty"`
	// Joint has the texts of a joint job, which stands for several jobs that one proof is made for.
	Joint []Part `json:"joint,omitempty"`
}

// Part is a text of a joint job, with the id of the job that it comes from.
type Part struct {
	Job string `json:"job"`
	*Text
}

// Text is what a language model wrote.
type Text struct {
	Prompt   []int                `json:"prompt"`
	Tokens   []int                `json:"tokens"`
	Sampling *provemodel.Sampling `json:"sampling,omitempty"` // nil: each token is the likeliest
	// Logits says that the proof must state the logits, because the answer tells numbers computed from them. The proof of
	// drawn tokens always states them.
	Logits bool `json:"logits,omitempty"`
}

// Texts returns the texts that a job's proof is about; nil if it is about arrays.
func (j *Job) Texts() (list []*Text) {
	if j.Text != nil {
		return []*Text{j.Text}
	}
	for _, p := range j.Joint {
		list = append(list, p.Text)
	}
	return list
}

// ID returns the id of a job and of its proof: the SHA-256 of the job in 64 hexadecimal digits. Equal jobs of the same
// owner have one proof.
func (j *Job) ID() (_ string, err error) {
	defer must.Catch(&err)
	data := must.Get(j.encode())
	d := sha256.Sum256(append([]byte("prove-model job\n"), data...))
	return hex.EncodeToString(d[:]), nil
}

// encode returns the job as JSON. It is an error unless the job has exactly one of Text, Inputs and Joint.
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

// IsID says whether a text has the form of the id of a proof, or of a commitment.
func IsID(s string) bool { return id.MatchString(s) }
