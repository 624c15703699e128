package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/serve/request"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/verifier"
)

// maxAnswer is the greatest size in bytes of an answer or a request that is read.
const maxAnswer = 1 << 30

// answered is the answer of a server: its receipt and, if the file has the whole answer, what the answer says.
type answered struct {
	receipt *receipt.Signed
	texts   []string             // texts that the answer has for readers, which are one text; none if only the receipt is given
	weighed *weighed             // logprobs of the answer; nil if it has none
	outputs map[string][]float64 // arrays of the answer, by name; nil if it has none
	vectors []json.RawMessage    // vectors of the answer of a sentence encoder
	request []byte               // body of the request; nil without --request
}

// receiptSaid says what a valid receipt says, and what it was compared with.
type receiptSaid struct {
	Answer    string `json:"answer"`
	Model     string `json:"model"` // the server's name for it
	PublicKey string `json:"public_key"`
	Created   int64  `json:"created"` // seconds since 1970
	// Compared lists what agrees with the receipt: text, logprobs, outputs, request, prompt, inputs.
	Compared []string `json:"compared"`
}

// readAnswer reads a receipt, alone or in an answer, and the request if it is given.
func readAnswer(cfg *config.Config) (_ *answered, err error) {
	defer must.Catch(&err)
	if cfg.Receipt == "" {
		if cfg.Request != "" || cfg.ReceiptKey != "" {
			return nil, job.WithHint(errors.New("--request and --receipt-key go with a receipt"), "name it, or the answer that it is in, with --receipt")
		}
		return nil, nil
	}
	if job.Sampling(cfg) != nil {
		return nil, errors.New("--seed, --temperature, --top-k and --top-p are in the receipt: leave them out")
	}
	data := must.GetAs(readSmall(cfg.Receipt))("receipt")
	a, data, err := parseAnswer(data)
	must.OKAs(err, "receipt %s", cfg.Receipt)
	if a.receipt, err = receipt.Read(data, cfg.ReceiptKey); err != nil {
		if errors.Is(err, receipt.ErrSignature) {
			err = fmt.Errorf("%w: %w", provemodel.ErrInvalid, err)
		}
		return nil, err
	}
	if cfg.Request != "" {
		a.request = must.GetAs(readSmall(cfg.Request))("request")
	}
	return a, nil
}

// parseAnswer returns what an answer says, and the bytes of the receipt in it. Data that are not an answer are taken as
// a receipt.
func parseAnswer(data []byte) (_ *answered, _ []byte, err error) {
	defer must.Catch(&err)
	var whole struct {
		Receipt json.RawMessage `json:"receipt"`
		Choices []struct {
			Text    *string `json:"text"`
			Message *struct {
				Content *string `json:"content"`
			} `json:"message"`
			Weighed *weighed `json:"logprobs"`
		} `json:"choices"`
		Outputs json.RawMessage `json:"outputs"`
		Data    []struct {
			Vector json.RawMessage `json:"embedding"`
		} `json:"data"`
		Error json.RawMessage `json:"error"`
	}
	must.OKAs(json.Unmarshal(data, &whole), "it is no JSON")
	must.OK(unambiguous(json.NewDecoder(bytes.NewReader(data)), ""))
	switch {
	case whole.Receipt == nil && whole.Error != nil:
		return nil, nil, errors.New("the server has answered with an error, and signed nothing")
	case whole.Receipt == nil:
		return &answered{}, data, nil
	case len(whole.Choices) > 1:
		return nil, nil, fmt.Errorf("the answer has %d texts, and a receipt is of one", len(whole.Choices))
	}
	a := &answered{vectors: seq.Map(whole.Data, func(d struct {
		Vector json.RawMessage `json:"embedding"`
	}) json.RawMessage {
		return d.Vector
	})}
	for _, c := range whole.Choices {
		a.weighed = c.Weighed
		if c.Text != nil {
			a.texts = append(a.texts, *c.Text)
		}
		if c.Message != nil && c.Message.Content != nil {
			a.texts = append(a.texts, *c.Message.Content)
		}
	}
	if whole.Outputs == nil {
		return a, whole.Receipt, nil
	}
	var list []struct {
		Name string          `json:"name"`
		Data request.Numbers `json:"data"`
	}
	must.OKAs(json.Unmarshal(whole.Outputs, &list), "the outputs of the answer")
	a.outputs = map[string][]float64{}
	for _, o := range list {
		if _, twice := a.outputs[o.Name]; twice {
			return nil, nil, fmt.Errorf("the answer has the output %s twice", ui.Printable(o.Name))
		}
		a.outputs[o.Name] = o.Data
	}
	return a, whole.Receipt, nil
}

// named has the places of an answer, and of a receipt alone, where the names of members are those of tokens, inputs and outputs.
var named = map[string]bool{
	"/choices[]/logprobs/top_logprobs[]": true, "/receipt/outputs": true, "/receipt/inputs": true, "/outputs": true, "/inputs": true,
}

// unambiguous returns an error if an object of an answer has two members whose names differ in the case of letters alone, or not at
// all. This program takes the last of them, and whoever reads the answer may take the other one. path is the place of what d reads next.
func unambiguous(d *json.Decoder, path string) (err error) {
	defer must.Catch(&err)
	switch must.Get(d.Token()) {
	case json.Delim('['):
		for d.More() {
			must.OK(unambiguous(d, path+"[]"))
		}
		must.Get(d.Token())
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			name, _ := must.Get(d.Token()).(string)
			same := name
			if !named[path] {
				same = strings.ToLower(strings.ToUpper(name)) // as names are compared when they are read
			}
			if seen[same] {
				return fmt.Errorf("it has %s twice, so that it can be read in two ways", request.Short(name))
			}
			seen[same] = true
			must.OK(unambiguous(d, path+"/"+name))
		}
		must.Get(d.Token())
	}
	return nil
}

// readSmall reads a file of at most maxAnswer bytes.
func readSmall(path string) (_ []byte, err error) {
	defer must.Catch(&err)
	f := must.Get(job.OpenFile(path))
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxAnswer+1))
	if err == nil && len(data) > maxAnswer {
		err = fmt.Errorf("%s has more than %d bytes", path, maxAnswer)
	}
	return data, err
}

// notWhat is the error, which wraps ErrInvalid, about something that does not agree.
func notWhat(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{provemodel.ErrInvalid}, args...)...)
}

// sampling returns the rule by which tokens were drawn, as the receipt says; nil if they were not drawn.
func (a *answered) sampling() (*provemodel.Sampling, error) {
	if a.receipt.Text == nil {
		return nil, nil
	}
	return a.receipt.Sampling.Sampling()
}

// inputs returns the arrays of the request, after it was compared with the receipt; nil if there are none.
func (a *answered) inputs() (_ provemodel.Arrays, err error) {
	defer must.Catch(&err)
	if a == nil || a.request == nil {
		return nil, nil
	}
	if got := receipt.TextDigest(string(a.request)); got != a.receipt.Request {
		return nil, notWhat("the receipt is about another request, with the SHA-256 %s", a.receipt.Request)
	}
	var body struct {
		Inputs []request.Array `json:"inputs"`
	}
	must.OKAs(json.Unmarshal(a.request, &body), "request")
	if len(body.Inputs) == 0 {
		return nil, nil
	}
	arrays, digests, err := request.ReadAll(body.Inputs)
	must.OKAs(err, "request")
	for name, digest := range digests {
		if digest != a.receipt.Inputs[name] {
			return nil, notWhat("the receipt is about other inputs than the request has")
		}
	}
	return arrays, nil
}

// textOf returns which text of a proof of several the receipt is about, counted from 1; 0 for a proof of one text. A receipt that came
// with an answer does not say which: it is then the text of --text-id, or the first with the receipt's tokens. It is an error if the
// settings name another text.
func (a *answered) textOf(cfg *config.Config, s *provemodel.Statement) (id int, err error) {
	id, err = a.receipt.TextOf(s.Several, func() int {
		if cfg.TextID > 0 && cfg.TextID <= s.Several {
			return cfg.TextID // the caller compares the tokens of this text
		}
		return 1 + slices.IndexFunc(s.Texts, func(w *verifier.Written) bool {
			return slices.Equal(w.Prompt, a.receipt.PromptTokens) && slices.Equal(w.Tokens, a.receipt.Tokens)
		})
	})
	if err == nil && s.Several == 0 {
		return cfg.TextID, nil // ofText refuses a number, as the proof has one text
	}
	if err == nil && cfg.TextID > 0 && cfg.TextID != id {
		err = fmt.Errorf("the receipt is about text %d, and --text-id is %d", id, cfg.TextID)
	}
	if err != nil {
		return 0, notWhat("%w", err)
	}
	return id, nil
}

// hold compares the receipt with the statement of a proof, and with the rest of the answer. If they do not agree the error wraps
// ErrInvalid.
func (a *answered) hold(cfg *config.Config, s *provemodel.Statement, t *tokenizer.Tokenizer) (_ *receiptSaid, err error) {
	defer must.Catch(&err)
	r := a.receipt
	said := &receiptSaid{Answer: r.Answer, Model: r.Model, PublicKey: r.PublicKey, Created: r.Created, Compared: []string{}}
	if r.Commitment != s.Commitment.String() {
		return nil, notWhat("the receipt is about the model with the commitment %s", r.Commitment)
	}
	if a.request != nil {
		said.Compared = append(said.Compared, "request")
	}
	if (r.Text != nil) != (s.Generated != nil) {
		return nil, notWhat("the receipt is not about what the proof is about")
	}
	if r.Text == nil {
		return said, a.holdArrays(s, said, t)
	}
	if !slices.Equal(r.PromptTokens, s.Generated.Prompt) || !slices.Equal(r.Tokens, s.Generated.Tokens) {
		return nil, notWhat("the receipt is about another text: its tokens are not those of the proof")
	}
	for _, text := range a.texts {
		if receipt.TextDigest(text) != r.AnswerSHA256 {
			return nil, notWhat("the answer has another text than its receipt says")
		}
	}
	if a.weighed != nil {
		must.OK(a.weighed.hold(s))
		said.Compared = append(said.Compared, "logprobs")
	}
	if t == nil {
		return said, nil
	}
	text := must.Get(t.After(s.Generated.Before(), s.Generated.Tokens))
	if !isBeginning(text, r.AnswerSHA256) {
		return nil, notWhat("the model wrote another text than the receipt says: %s", ui.Printable(text))
	}
	said.Compared = append(said.Compared, "text")
	if a.request == nil {
		return said, nil
	}
	compared, err := a.holdPrompt(cfg, s.Generated.Prompt, t)
	if compared {
		said.Compared = append(said.Compared, "prompt")
	}
	return said, err
}

// isBeginning says whether a text, or a beginning of it, has a SHA-256. An answer does not contain the stop that ended
// it, nor tokens after that.
func isBeginning(text, digest string) bool {
	h := sha256.New() // Sum does not change the state, so a long text is hashed once
	for i := 0; ; i++ {
		if hex.EncodeToString(h.Sum(nil)) == digest {
			return true
		}
		if i == len(text) {
			return false
		}
		h.Write([]byte{text[i]})
	}
}

// holdArrays does the work of hold for an answer of arrays.
func (a *answered) holdArrays(s *provemodel.Statement, said *receiptSaid, t *tokenizer.Tokenizer) (err error) {
	defer must.Catch(&err)
	for name, digest := range a.receipt.Outputs {
		at := slices.IndexFunc(s.Outputs, func(o provemodel.Tensor) bool { return o.Name == name })
		if at < 0 || receipt.Digest(s.Outputs[at].Values) != digest {
			return notWhat("the receipt has another output %s than the proof", ui.Printable(name))
		}
	}
	for name, values := range a.outputs {
		if receipt.Digest(values) != a.receipt.Outputs[name] {
			return notWhat("the answer has another output %s than its receipt says", ui.Printable(name))
		}
	}
	must.OK(a.holdVectors(s))
	said.Compared = append(said.Compared, "outputs")
	if a.request == nil {
		return nil
	}
	var body struct {
		Inputs []json.RawMessage `json:"inputs"`
		Input  *request.Prompt   `json:"input"` // of a sentence encoder
	}
	must.OKAs(json.Unmarshal(a.request, &body), "request")
	if len(body.Inputs) > 0 { // verifying has compared them with the proof
		said.Compared = append(said.Compared, "inputs")
	}
	if body.Input == nil || body.Input.Text != nil && t == nil {
		return nil
	}
	ids := body.Input.IDs
	if body.Input.Text != nil {
		ids = must.Get(t.Encode(*body.Input.Text))
	}
	if len(s.Inputs) == 0 { // the proof hides them
		return notWhat("the request has a text, and the proof does not state what it is about")
	}
	if !slices.EqualFunc(ids, s.Inputs[0].Values, func(id int, v float64) bool { return float64(id) == v }) {
		return notWhat("the proof is about another text than the request has")
	}
	said.Compared = append(said.Compared, "prompt")
	return nil
}

// holdVectors compares the vectors in the answer of a sentence encoder with the proof. Entries may be rounded to float32, as they are in
// base64, and in what clients make of that.
func (a *answered) holdVectors(s *provemodel.Statement) error {
	if len(a.vectors) == 0 {
		return nil
	}
	if len(a.vectors) > 1 || len(a.receipt.Outputs) != 1 || len(s.Outputs) != 1 {
		return notWhat("the answer has %d vectors, and its receipt %d outputs", len(a.vectors), len(a.receipt.Outputs))
	}
	var packed []byte
	var values []float64
	if json.Unmarshal(a.vectors[0], &packed) == nil && len(packed)%4 == 0 {
		for ; len(packed) > 0; packed = packed[4:] {
			values = append(values, float64(math.Float32frombits(binary.LittleEndian.Uint32(packed))))
		}
	} else if err := json.Unmarshal(a.vectors[0], &values); err != nil {
		return fmt.Errorf("the vector of the answer: %w", err)
	}
	if !slices.EqualFunc(values, s.Outputs[0].Values, func(got, want float64) bool { return got == want || got == float64(float32(want)) }) {
		return notWhat("the answer has another vector than its receipt says")
	}
	return nil
}

// holdPrompt compares the prompt's tokens with those of the request. compared is false if the template that a
// conversation needs is not at hand.
func (a *answered) holdPrompt(cfg *config.Config, ids []int, t *tokenizer.Tokenizer) (compared bool, err error) {
	defer must.Catch(&err)
	var body struct {
		Prompt   *request.Prompt   `json:"prompt"`
		Messages []request.Message `json:"messages"`
	}
	must.OKAs(json.Unmarshal(a.request, &body), "request")
	var want []int
	switch {
	case body.Prompt != nil && body.Prompt.Text != nil:
		want = must.Get(t.Encode(*body.Prompt.Text))
	case body.Prompt != nil:
		want = body.Prompt.IDs
	case cfg.Model == "" || body.Messages == nil:
		return false, nil
	default:
		template := must.GetAs(chat.Open(job.TokenizerOf(cfg.Model)))("the chat template")
		list := seq.Map(body.Messages, func(m request.Message) chat.Message { return chat.Message{Role: m.Role, Content: string(m.Content)} })
		text := must.Get(template.Render(list, true))
		want = must.Get(t.EncodeChat(text))
	}
	if !slices.Equal(want, ids) {
		return false, notWhat("the proof is about another prompt than the request has")
	}
	return true, nil
}

// Print writes a line about the receipt.
func (r *receiptSaid) Print(w io.Writer) {
	if r == nil {
		return
	}
	compared := "the model and the proof alone"
	if len(r.Compared) > 0 {
		compared = strings.Join(r.Compared, ", ")
	}
	ui.Line(w, "receipt", "of %s, by the server with the public key %s; compared: %s", r.Answer, r.PublicKey, compared)
}
