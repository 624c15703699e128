package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"

	provemodel "github.com/prove-model/prove-model"
)

// Job is a run of a model that was answered with, and all that its proof is made from: whoever proves it gets the same bytes.
type Job struct {
	Model      string `json:"model"`      // name of it, for people
	Commitment string `json:"commitment"` // of its key, hexadecimal
	Owner      string `json:"owner"`      // name of the API key that asked, "" without keys
	Text       *Text  `json:"text,omitempty"`
	// Inputs are the arrays that another model was run on, one for each of its inputs, dense and row-major.
	Inputs provemodel.Input `json:"inputs,omitempty"`
}

// Text is what a language model wrote.
type Text struct {
	Prompt   []int                `json:"prompt"`
	Tokens   []int                `json:"tokens"`
	Sampling *provemodel.Sampling `json:"sampling,omitempty"` // nil: each token is the likeliest
	// Logits says that the proof is to state the logits, from which the answer has numbers. One of drawn tokens does so anyway.
	Logits bool `json:"logits,omitempty"`
}

// ID is what the proof of a job is called: 64 hexadecimal digits, the SHA-256 of the job. The same job, of the same owner,
// is proved once.
func (j *Job) ID() (string, error) {
	data, err := j.encode()
	if err != nil {
		return "", err
	}
	d := sha256.Sum256(append([]byte("prove-model job\n"), data...))
	return hex.EncodeToString(d[:]), nil
}

func (j *Job) encode() ([]byte, error) {
	if (j.Text == nil) == (j.Inputs == nil) {
		return nil, errors.New("a job is of a text or of arrays")
	}
	return json.Marshal(j)
}

var id = regexp.MustCompile(`^[0-9a-f]{64}$`)

// IsID says whether a text may be the id of a proof, or a commitment.
func IsID(s string) bool { return id.MatchString(s) }
