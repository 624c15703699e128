package serve

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/serve/request"
)

// embed answers with the vector that a sentence encoder makes of a text.
func (s *Server) embed(w http.ResponseWriter, r *http.Request) error {
	must.OK(s.serving())
	body := must.Get(s.body(w, r))
	var name string
	var input request.Prompt
	format := "float"
	var asked *bool
	must.OK(parameters(body, map[string]any{"model": &name, "input": &input, "encoding_format": &format, "prove": &asked}))
	m := must.Get(s.named(name))
	if !m.Embeds {
		return bad("model", "model_not_supported", fmt.Errorf("%s is no sentence encoder", name))
	}
	if format != "float" && format != "base64" {
		return bad("encoding_format", "invalid_value", errors.New("the encoding is float or base64"))
	}
	ids, err := input.IDs, error(nil)
	if input.Text != nil {
		ids, err = m.Encode(*input.Text)
	}
	must.OK(checkPrompt(m, ids, "input", err))
	arrays, in, err := m.TextInput(ids)
	if err != nil {
		return bad("input", "invalid_value", err)
	}
	release := must.Get(s.slot(r.Context()))
	out, err := m.Run(r.Context(), in)
	release()
	must.OK(err)
	s.metrics.tokens.WithLabelValues(m.Name, "prompt").Add(float64(len(ids)))
	rec := &receipt.Receipt{
		Answer: newID("embd"), Created: now(), Request: bodyDigest(body),
		Inputs: map[string]string{arrays[0].Name: receipt.Digest(arrays[0].Values)}, Outputs: map[string]string{out[0].Name: receipt.Digest(out[0].Values)},
	}
	p := must.Get(s.accept(r, &queue.Job{Model: m.Name, Commitment: m.Commitment, Owner: ownerOf(r), Inputs: in}, asked, rec))
	var vector any = out[0].Values
	if format == "base64" { // float32 values, as OpenAI's clients expect
		var bytes []byte
		for _, v := range out[0].Values {
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(v)))
		}
		vector = base64.StdEncoding.EncodeToString(bytes)
	}
	type entry struct {
		Object string `json:"object"`
		Index  int    `json:"index"`
		Vector any    `json:"embedding"`
	}
	writeJSON(w, http.StatusOK, struct {
		Object string         `json:"object"`
		Data   []entry        `json:"data"`
		Model  string         `json:"model"`
		Usage  map[string]int `json:"usage"`
		*proven
	}{"list", []entry{{"embedding", 0, vector}}, m.Name, map[string]int{"prompt_tokens": len(ids), "total_tokens": len(ids)}, p})
	return nil
}
