// Package receipt makes and reads what a server signs about an answer: which model has given it, to which tokens or numbers, and what
// its proof is called. A receipt comes with the answer, before there is a proof; a proof makes it true or shows that it was false.
package receipt

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/must"
)

// Receipt is what the server signs. Its numbers are whole, and others are texts, so that everybody writes the same JSON.
type Receipt struct {
	Version    int    `json:"version"`    // 1
	Answer     string `json:"answer"`     // id of the answer
	Created    int64  `json:"created"`    // seconds since 1970
	Model      string `json:"model"`      // name
	Commitment string `json:"commitment"` // of the model's key, hexadecimal
	Proof      string `json:"proof"`      // id of the proof
	Request    string `json:"request"`    // SHA-256 of the request's body
	*Text      `json:",omitempty"`
	// Outputs are the digests (Digest) of the arrays of an answer, by name.
	Outputs map[string]string `json:"outputs,omitempty"`
	// Inputs are the digests of the arrays of the request, likewise.
	Inputs map[string]string `json:"inputs,omitempty"`
	// Shared says with whose texts the answer's may stand in one proof (SharedKey, SharedAll), which those whom that proof is for can read
	// too; "": with nobody's.
	Shared string `json:"shared,omitempty"`
	// Joint is where it stands in a proof of several texts, once that is known: receipts of answers come before there is a proof.
	Joint *Place `json:"joint,omitempty"`
	// Coin says by what it was decided whether the answer is proved at once; nil: not by chance.
	Coin *Coin `json:"coin,omitempty"`
}

// Values of Shared: texts of the same API key, and of anybody.
const (
	SharedKey = "key"
	SharedAll = "all"
)

// Place is where a text stands in a proof of several.
type Place struct {
	Proof  string `json:"proof"`   // id of that proof
	TextID int    `json:"text_id"` // from 1 on
	Texts  int    `json:"texts"`   // how many it is of
}

// TextOf returns which text of a proof of so many, 0 for one of one text, the receipt is about: its number from 1 on, 0 of a proof of one
// text. find returns the number of a text with the receipt's tokens, 0 if there is none.
func (r *Receipt) TextOf(texts int, find func() int) (id int, err error) {
	p := r.Joint
	switch {
	case texts == 0 && p != nil:
		return 0, fmt.Errorf("the receipt is about text %d of a proof of %d, and this is a proof of one", p.TextID, p.Texts)
	case texts == 0:
		return 0, nil
	case r.Text == nil || r.Shared == "":
		return 0, fmt.Errorf("the receipt's proof is of its text alone, and this is a proof of %d texts", texts)
	case p == nil:
		if id = find(); id == 0 {
			return 0, fmt.Errorf("the receipt is about another text: none of the %d has its tokens", texts)
		}
		return id, nil
	case p.Texts != texts || p.TextID < 1 || p.TextID > texts:
		return 0, fmt.Errorf("the receipt is about text %d of a proof of %d, and this is a proof of %d", p.TextID, p.Texts, texts)
	}
	return p.TextID, nil
}

// Text is what a receipt says of a text.
type Text struct {
	TokenizerSHA256 string `json:"tokenizer"` // of its file
	AnswerSHA256    string `json:"text"`      // of the answer's text in UTF-8
	PromptTokens    []int  `json:"prompt_tokens"`
	Tokens          []int  `json:"tokens"`
	Sampling        *Rule  `json:"sampling,omitempty"` // absent: each token is the likeliest
}

// Rule is a provemodel.Sampling in texts.
type Rule struct {
	Seed        string `json:"seed"`
	Temperature string `json:"temperature"`
	TopK        int    `json:"top_k"`
	TopP        string `json:"top_p"`
}

// RuleOf writes a rule; nil for nil.
func RuleOf(s *provemodel.Sampling) *Rule {
	if s == nil {
		return nil
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return &Rule{strconv.FormatInt(s.Seed, 10), number(s.Temperature), s.TopK, number(s.TopP)}
}

// Sampling reads the rule; nil for nil.
func (r *Rule) Sampling() (*provemodel.Sampling, error) {
	if r == nil {
		return nil, nil
	}
	s := &provemodel.Sampling{TopK: r.TopK}
	var errs [3]error
	s.Seed, errs[0] = strconv.ParseInt(r.Seed, 10, 64)
	s.Temperature, errs[1] = strconv.ParseFloat(r.Temperature, 64)
	s.TopP, errs[2] = strconv.ParseFloat(r.TopP, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("the receipt's sampling: %w", err)
	}
	return s, s.Validate()
}

// Signed is a receipt with its signature.
type Signed struct {
	Receipt
	PublicKey string `json:"public_key"` // Ed25519, base64
	Signature string `json:"signature"`  // likewise
}

// Sign signs a receipt.
func Sign(r *Receipt, key ed25519.PrivateKey) (_ *Signed, err error) {
	defer must.Catch(&err)
	r.Version = 1
	s := &Signed{Receipt: *r, PublicKey: encode(key.Public().(ed25519.PublicKey))}
	message := must.Get(s.message())
	s.Signature = encode(ed25519.Sign(key, message))
	return s, nil
}

// domain begins what is signed, so that no signature of something else is one of a receipt.
const domain = "prove-model receipt\n"

// message is what is signed: the receipt with the public key and without the signature, in JSON as RFC 8785 writes it, that is, on one
// line with the members in the order of their names.
func (s *Signed) message() (_ []byte, err error) {
	defer must.Catch(&err)
	unsigned := *s
	unsigned.Signature = ""
	data := must.Get(json.Marshal(&unsigned))
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var members map[string]any // which Marshal sorts
	must.OK(d.Decode(&members))
	delete(members, "signature")
	var out bytes.Buffer
	out.WriteString(domain)
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	must.OK(e.Encode(members))
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// ErrSignature is the error about a receipt that its server has not signed.
var ErrSignature = errors.New("the receipt's signature does not hold")

// Read reads a signed receipt and verifies its signature: by the given public key in base64, or by its own if that is "".
// A receipt that does not hold gives an error that wraps ErrSignature.
func Read(data []byte, publicKey string) (*Signed, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	s := &Signed{}
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	if s.Version != 1 {
		return nil, fmt.Errorf("receipt: version %d is not 1", s.Version)
	}
	if publicKey != "" && publicKey != s.PublicKey {
		return nil, fmt.Errorf("%w: it is of another server, with the public key %s", ErrSignature, s.PublicKey)
	}
	key, err := base64.StdEncoding.Strict().DecodeString(s.PublicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%w: its public key is none", ErrSignature)
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(s.Signature)
	if err != nil {
		return nil, fmt.Errorf("%w: it is no base64", ErrSignature)
	}
	message, err := s.message()
	if err != nil {
		return nil, err
	}
	if !ed25519.Verify(key, message, signature) {
		return nil, ErrSignature
	}
	return s, nil
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
