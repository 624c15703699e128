package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"unicode/utf8"

	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/serve/request"
)

// modelInfo describes a model in OpenAI's API.
type modelInfo struct {
	ID         string `json:"id"`
	Object     string `json:"object"`
	Created    int64  `json:"created"`
	OwnedBy    string `json:"owned_by"`
	Commitment string `json:"model_commitment"`
	// The members below are those of language models that write.
	MaxTokens int    `json:"max_tokens,omitempty"`
	MaxPrompt int    `json:"max_prompt_tokens,omitempty"`
	Tokenizer string `json:"tokenizer,omitempty"` // SHA-256 of its file
	Chat      bool   `json:"chat"`
}

// infoOf describes a model.
func infoOf(m *models.Model) *modelInfo {
	i := &modelInfo{ID: m.Name, Object: "model", Created: m.Committed.Unix(), OwnedBy: "prove-model", Commitment: m.Commitment, MaxTokens: m.MaxTokens, MaxPrompt: m.MaxPrompt, Chat: m.Writes && m.Template != nil}
	if m.Tokenizer != nil {
		i.Tokenizer = fmt.Sprintf("%x", m.Tokenizer.Digest())
	}
	return i
}

// listModels answers with all models.
func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": seq.Map(s.Models(), infoOf)})
	return nil
}

// showModel answers with one model.
func (s *Server) showModel(w http.ResponseWriter, r *http.Request) error {
	m := must.Get(s.named(r.PathValue("model")))
	writeJSON(w, http.StatusOK, infoOf(m))
	return nil
}

// tokenizer answers with the file of a model's tokenizer. The client need not trust it, since its digest is in the key.
func (s *Server) tokenizer(w http.ResponseWriter, r *http.Request) error {
	m := must.Get(s.named(r.PathValue("model")))
	if m.TokenizerFile == "" {
		return &apiError{Status: http.StatusNotFound, Type: invalidRequest, Code: "no_tokenizer", Message: "the model has no tokenizer that is a file of its own"}
	}
	data := must.Get(os.ReadFile(m.TokenizerFile))
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(data)
	return nil
}

// named returns the model of a name, or an error for the client.
func (s *Server) named(name string) (*models.Model, error) {
	if m := s.model(name); m != nil {
		return m, nil
	}
	return nil, &apiError{Status: http.StatusNotFound, Type: invalidRequest, Param: "model", Code: "model_not_found", Message: fmt.Sprintf("there is no model %s: /v1/models lists them", request.Short(name))}
}

// mostStops is the greatest number of stops of a request, as in OpenAI's API.
const mostStops = 4

// read reads the members that requests to /v1/chat/completions and /v1/completions have in common. fields has the other
// members, by name.
func (s *Server) read(w http.ResponseWriter, r *http.Request, kind, object string, fields map[string]any) (_ *writing, err error) {
	defer must.Catch(&err)
	must.OK(s.serving())
	body := must.Get(s.body(w, r))
	q := &writing{id: newID(kind), object: object, created: now(), body: body}
	var name string
	var temperature, topP *float64
	var topK, maxTokens, most *int
	var given *int64
	var stop request.Stops
	var options struct {
		Usage       bool `json:"include_usage"`
		Obfuscation bool `json:"include_obfuscation"`
	}
	fields["model"], fields["max_tokens"], fields["max_completion_tokens"] = &name, &most, &maxTokens
	fields["temperature"], fields["top_p"], fields["top_k"], fields["seed"] = &temperature, &topP, &topK, &given
	fields["stop"], fields["stream"], fields["stream_options"], fields["prove"] = &stop, &q.stream, &options, &q.prove
	fields["alone"] = &q.alone
	must.OK(parameters(body, fields))
	q.model = must.Get(s.named(name))
	if !q.model.Writes {
		return nil, bad("model", "model_not_supported", fmt.Errorf("%s writes no text: /v2/models/%s/infer runs it", name, name))
	}
	q.maxTokens, q.usage = q.model.MaxTokens, options.Usage
	if most != nil && maxTokens != nil && *most != *maxTokens {
		return nil, bad("max_tokens", "invalid_value", errors.New("max_tokens and max_completion_tokens are two names of one number, and differ"))
	}
	if maxTokens = cmp.Or(maxTokens, most); maxTokens != nil {
		q.maxTokens = *maxTokens
	}
	if q.maxTokens < 1 || q.maxTokens > q.model.MaxTokens {
		return nil, bad("max_tokens", "max_tokens_exceeded", fmt.Errorf("%d tokens are asked for: the model's key is for 1 to %d", q.maxTokens, q.model.MaxTokens))
	}
	if q.sampling, err = drawing(temperature, topP, topK, given); err != nil {
		return nil, bad("temperature", "invalid_value", err)
	}
	q.alone = q.alone || q.sampling != nil && given == nil // its random seed is that of no other answer, and texts of one proof have one rule
	if len(stop) > mostStops {
		return nil, bad("stop", "invalid_value", fmt.Errorf("%d stops: at most %d", len(stop), mostStops))
	}
	for _, t := range stop {
		if t == "" || len(t) > 1000 {
			return nil, bad("stop", "invalid_value", errors.New("a stop is empty, or longer than 1000 bytes"))
		}
	}
	if len(stop) > 0 && q.model.Tokenizer == nil {
		return nil, bad("stop", "unsupported_parameter", errors.New("the model comes without a tokenizer, so that no text ends an answer"))
	}
	q.stop = stop
	return q, nil
}

// check checks the prompt, which comes from the member param of the request. err is the error of reading it.
func (q *writing) check(param string, err error) error {
	return checkPrompt(q.model, q.prompt, param, err)
}

// checkPrompt returns an error for the client if a prompt could not be read (err), or if the model does not take it.
func checkPrompt(m *models.Model, ids []int, param string, err error) error {
	if err == nil {
		err = m.CheckPrompt(ids)
	}
	if errors.Is(err, models.ErrTooLong) {
		return bad(param, "context_length_exceeded", err)
	}
	if err != nil {
		return bad(param, "invalid_value", err)
	}
	return nil
}

// usage has the numbers of tokens of a request.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// chat answers /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) error {
	var messages []request.Message
	var logprobs bool
	var top *int
	q := must.Get(s.read(w, r, "chatcmpl", "chat.completion", map[string]any{"messages": &messages, "logprobs": &logprobs, "top_logprobs": &top}))
	if top != nil && !logprobs {
		return bad("top_logprobs", "invalid_value", errors.New("top_logprobs goes with logprobs: true"))
	}
	if logprobs {
		if top == nil {
			top = new(int)
		}
		must.OK(q.asksLogprobs("top_logprobs", *top, receipt.MostTopChat))
	}
	if len(messages) == 0 {
		return bad("messages", "missing_required_parameter", errors.New("a conversation has at least one message"))
	}
	list := seq.Map(messages, func(m request.Message) chat.Message { return chat.Message{Role: m.Role, Content: string(m.Content)} })
	ids, err := q.model.EncodeChat(list)
	q.prompt = ids
	must.OK(q.check("messages", err))
	return s.respond(w, r, q, func(c *choice) any {
		delta := map[string]any{}
		if c.first {
			delta["role"] = "assistant"
		}
		if c.text != "" || c.first {
			delta["content"] = c.text
		}
		return map[string]any{"index": 0, "delta": delta, "logprobs": chatLogprobs(q, c.tokens), "finish_reason": c.finish}
	}, func(c *choice) any {
		return map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": c.text, "refusal": nil}, "logprobs": chatLogprobs(q, c.tokens), "finish_reason": c.finish}
	})
}

// complete answers /v1/completions.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) error {
	var p request.Prompt
	var top *int
	var err error
	q := must.Get(s.read(w, r, "cmpl", "text_completion", map[string]any{"prompt": &p, "logprobs": &top}))
	if top != nil {
		must.OK(q.asksLogprobs("logprobs", *top, receipt.MostTop))
	}
	switch {
	case p.Text != nil:
		q.prompt, err = q.model.Encode(*p.Text)
	case p.IDs != nil:
		q.prompt = p.IDs
	default:
		return bad("prompt", "missing_required_parameter", errors.New("the request has no prompt"))
	}
	must.OK(q.check("prompt", err))
	text := func(c *choice) any {
		return map[string]any{"index": 0, "text": c.text, "logprobs": textLogprobs(q, c.tokens, c.before), "finish_reason": c.finish}
	}
	return s.respond(w, r, q, text, text)
}

// choice is an answer, or a part of one.
type choice struct {
	text   string
	tokens []models.Weighed // empty unless the request asks for logprobs
	before int              // number of characters of the answer before this part
	first  bool
	finish any // why the answer ends; nil if it goes on
}

// respond answers a request: with one body, in which whole makes the choice, or with a stream of chunks, in which part
// makes each choice.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, q *writing, part, whole func(c *choice) any) error {
	// body is an answer, or one event of a stream. In a stream only the last event has the usage.
	type body struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		Model   string `json:"model"`
		Choices []any  `json:"choices"`
		Usage   *usage `json:"usage,omitempty"`
		*proven
	}
	count := func(tokens int) *usage { return &usage{len(q.prompt), tokens, len(q.prompt) + tokens} }
	if !q.stream {
		var tokens []models.Weighed
		out, p, err := s.write(r, q, func(_ string, more []models.Weighed) { tokens = append(tokens, more...) })
		if err != nil {
			return err
		}
		c := &choice{text: out.Text, tokens: append(tokens, out.Rest...), finish: out.Finish}
		writeJSON(w, http.StatusOK, body{q.id, q.object, q.created, q.model.Name, []any{whole(c)}, count(len(out.Tokens)), p})
		return nil
	}
	object := q.object
	if object == "chat.completion" {
		object = "chat.completion.chunk"
	}
	e := &events{w: w}
	send := func(choices []any, u *usage, p *proven) {
		e.send("", body{q.id, object, q.created, q.model.Name, choices, u, p})
	}
	before := 0
	out, p, err := s.write(r, q, func(text string, tokens []models.Weighed) {
		send([]any{part(&choice{text: text, tokens: tokens, before: before, first: !e.started})}, nil, nil)
		before += utf8.RuneCountInString(text)
	})
	if err != nil && !e.started {
		return err
	}
	if err != nil { // the status line is sent already, so the error becomes an event
		a := asAPI(err)
		if a.cause != nil && r.Context().Err() == nil {
			s.opts.Log.Error("answer failed", "error", a.cause)
		}
		e.send("", errorBody(a))
		return nil
	}
	send([]any{part(&choice{tokens: out.Rest, before: before, first: !e.started, finish: out.Finish})}, nil, p)
	if q.usage {
		send([]any{}, count(len(out.Tokens)), nil)
	}
	e.raw("", []byte("[DONE]"))
	return nil
}
