// Package receipt makes and reads the receipts that a server signs. A receipt says which model has given an answer, to which tokens
// or numbers, and which proof will be made of it. It comes with the answer, before there is a proof; the proof then shows whether the
// receipt is true.
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

// Receipt is what the server signs. Its numbers are integers, and fractions are written as strings, so that every
// program writes the same JSON for it.
type Receipt struct {
	Version    int    `json:"version"`    // 1
	Answer     string `json:"answer"`     // id of the answer
	Created    int64  `json:"created"`    // seconds since 1970
	Model      string `json:"model"`      // name
	Commitment string `json:"commitment"` // of the model's key, hexadecimal
	Proof      string `json:"proof"`      // id of the proof
	Request    string `json:"request"`    // SHA-256 of the request's body
	*Text      `json:",omitempty"`
	// Outputs has the digests (Digest) of the answer's arrays, by name.
	Outputs map[string]string `json:"outputs,omitempty"`
	// Inputs has the digests of the request's arrays, by name.
	Inputs map[string]string `json:"inputs,omitempty"`
	// Shared says with which other answers this one may be proved in one proof (SharedKey, SharedAll); whoever gets that proof can read
	// all of its texts. "": with none.
	Shared string `json:"shared,omitempty"`
	// Joint is the place of the answer's text in a proof of several texts. The receipt of a new answer does not have it,
	// since it is not known before the proof.
	Joint *Place `json:"joint,omitempty"`
	// Coin is the coin that decided whether the answer is proved at once; nil: it was not decided by chance.
	Coin *Coin `json:"coin,omitempty"`
}

// Values of Shared: texts of the same API key, and of anybody.
const (
	SharedKey = "key"
	SharedAll = "all"
)

// Place is the place of a text in a proof of several texts.
type Place struct {
	Proof  string `json:"proof"`   // id of that proof
	TextID int    `json:"text_id"` // from 1 on
	Texts  int    `json:"texts"`   // number of texts of that proof
}

// TextOf returns which text of a proof the receipt is about. texts is the number of texts of a proof of several, 0 for a proof of a
// single text. The result is counted from 1, and is 0 for a proof of a single text. TextOf calls find if the receipt does not name a
// place: find returns the number of a text with the receipt's tokens, 0 if there is none.
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

// Text is what a receipt says about a text.
type Text struct {
	TokenizerSHA256 string `json:"tokenizer"` // SHA-256 of its file
	AnswerSHA256    string `json:"text"`      // SHA-256 of the answer's text in UTF-8
	PromptTokens    []int  `json:"prompt_tokens"`
	Tokens          []int  `json:"tokens"`
	Sampling        *Rule  `json:"sampling,omitempty"` // absent: each token is the likeliest
}

// Rule is a provemodel.Sampling whose fractions and seed are strings.
type Rule struct {
	Seed        string `json:"seed"`
	Temperature string `json:"temperature"`
	TopK        int    `json:"top_k"`
	TopP        string `json:"top_p"`
}

// RuleOf converts a rule to its form in receipts; nil for nil.
func RuleOf(s *provemodel.Sampling) *Rule {
	if s == nil {
		return nil
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return &Rule{strconv.FormatInt(s.Seed, 10), number(s.Temperature), s.TopK, number(s.TopP)}
}

// Sampling is the inverse of RuleOf; nil for nil.
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

// domain is the beginning of every signed message, so that no signature of another kind of message is also one of a
// receipt.
const domain = "prove-model receipt\n"

// message returns what is signed: the domain, and the receipt with the public key and without the signature, as JSON in the form of
// RFC 8785: on one line, with the members sorted by name.
func (s *Signed) message() (_ []byte, err error) {
	defer must.Catch(&err)
	unsigned := *s
	unsigned.Signature = ""
	data := must.Get(json.Marshal(&unsigned))
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var members map[string]any // Marshal sorts a map by its keys
	must.OK(d.Decode(&members))
	delete(members, "signature")
	var out bytes.Buffer
	out.WriteString(domain)
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	must.OK(e.Encode(members))
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// ErrSignature is the error about a receipt whose signature is not valid, or is by another key.
var ErrSignature = errors.New("the receipt's signature does not hold")

// Read reads a signed receipt and verifies its signature, by the given public key in base64, or by the public key in the
// receipt if publicKey is "". If the signature is not valid the error wraps ErrSignature.
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
