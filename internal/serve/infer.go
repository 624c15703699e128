package serve

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/serve/models"
	"github.com/prove-model/prove-model/internal/serve/queue"
	"github.com/prove-model/prove-model/internal/serve/receipt"
	"github.com/prove-model/prove-model/internal/serve/request"
	"github.com/prove-model/prove-model/prover/statement"
)

// tensorInfo describes an input or an output in the Open Inference Protocol.
type tensorInfo struct {
	Name     string `json:"name"`
	Datatype string `json:"datatype"`
	Shape    []int  `json:"shape"`
}

// inputsOf returns the inputs of a model as requests give them: for a model with a vocabulary its strings, files or numbers,
// else the model's arrays. An axis of -1 has any length.
func inputsOf(m *models.Model) []tensorInfo {
	v := m.Vocabulary()
	if !v.Takes() {
		return tensorsOf(m.Inputs())
	}
	out := make([]tensorInfo, len(v.Inputs))
	for i, in := range v.Inputs {
		out[i] = tensorInfo{in.Name, "FP64", slices.Concat([]int{}, in.Shape)}
		switch {
		case in.Strings:
			out[i].Datatype = request.Strings
		case in.File:
			out[i].Datatype, out[i].Shape = "UINT8", []int{0}
		}
		for axis, n := range out[i].Shape {
			if n == 0 {
				out[i].Shape[axis] = -1
			}
		}
	}
	return out
}

// vocabulary answers with the file of a model's vocabulary. The client need not trust it, since its digest is in the
// key.
func (s *Server) vocabulary(w http.ResponseWriter, r *http.Request) error {
	m := must.Get(s.named(r.PathValue("model")))
	file := m.VocabularyFile()
	if file == nil {
		return &apiError{Status: http.StatusNotFound, Type: invalidRequest, Code: "no_vocabulary", Message: "the model says nothing of strings"}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(file)
	return nil
}

// tensorsOf describes the inputs or outputs of a model.
func tensorsOf(list []provemodel.Spec) []tensorInfo {
	return seq.Map(list, func(t provemodel.Spec) tensorInfo { return tensorInfo{t.Name, "FP64", slices.Concat([]int{}, t.Shape)} })
}

// v2Server answers with the name and version of the server.
func (s *Server) v2Server(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"name": "prove-model", "version": provemodel.Version, "extensions": []string{}})
	return nil
}

// arraysModel returns the model that a request names, if it is one for arrays.
func (s *Server) arraysModel(r *http.Request) (*models.Model, error) {
	m, err := s.named(r.PathValue("model"))
	if err == nil && m.Writes {
		err = bad("model", "model_not_supported", fmt.Errorf("%s writes texts: /v1/completions has it answer", m.Name))
	}
	return m, err
}

// v2Model describes a model.
func (s *Server) v2Model(w http.ResponseWriter, r *http.Request) error {
	m := must.Get(s.arraysModel(r))
	writeJSON(w, http.StatusOK, map[string]any{
		"name": m.Name, "versions": []string{m.Commitment}, "platform": "prove-model", "inputs": inputsOf(m), "outputs": tensorsOf(m.Outputs()),
		"model_commitment": m.Commitment,
	})
	return nil
}

// v2Ready says whether a model answers.
func (s *Server) v2Ready(w http.ResponseWriter, r *http.Request) error {
	m := must.Get(s.named(r.PathValue("model")))
	must.OK(s.serving())
	writeJSON(w, http.StatusOK, map[string]any{"name": m.Name, "ready": true})
	return nil
}

// namesOf returns the strings that the entries of an output stand for: those of its entries, or of its columns; nil if
// there are none.
func namesOf(t provemodel.Tensor) map[string][]string {
	switch {
	case t.Strings != nil:
		return map[string][]string{"strings": t.Strings}
	case t.Columns != nil:
		return map[string][]string{"columns": t.Columns}
	}
	return nil
}

// infer answers with the outputs of a model on the arrays of the request.
func (s *Server) infer(w http.ResponseWriter, r *http.Request) error {
	must.OK(s.serving())
	m := must.Get(s.arraysModel(r))
	body := must.Get(s.body(w, r))
	var id string
	var inputs []request.Array
	var outputs []struct {
		Name string `json:"name"`
	}
	var params struct {
		Prove *bool `json:"prove"`
	}
	must.OK(parameters(body, map[string]any{"id": &id, "inputs": &inputs, "outputs": &outputs, "parameters": &params}))
	rec := &receipt.Receipt{Answer: newID("infer"), Created: now(), Request: bodyDigest(body), Outputs: map[string]string{}}
	arrays, digests, err := request.ReadAll(inputs)
	if err != nil {
		return bad("inputs", "invalid_value", err)
	}
	rec.Inputs = digests
	in, err := m.Input(arrays)
	if err != nil {
		return bad("inputs", "invalid_value", err)
	}
	release := must.Get(s.slot(r.Context()))
	all, err := m.Run(r.Context(), in)
	release()
	must.OK(err)
	type output struct {
		tensorInfo
		Data statement.Numbers `json:"data"`
		// Parameters has "strings", the strings that the numbers stand for, or "columns", the names of the entries along the
		// last axis.
		Parameters map[string][]string `json:"parameters,omitempty"`
	}
	var list []output
	for _, t := range all {
		asked := slices.ContainsFunc(outputs, func(o struct {
			Name string `json:"name"`
		}) bool {
			return o.Name == t.Name
		})
		if len(outputs) == 0 || asked {
			list = append(list, output{tensorInfo{t.Name, "FP64", slices.Concat([]int{}, t.Shape)}, t.Values, namesOf(t)})
			rec.Outputs[t.Name] = receipt.Digest(t.Values)
		}
	}
	if len(outputs) > 0 && len(list) != len(outputs) {
		return bad("outputs", "invalid_value", errors.New("an output is asked for that the model does not have, or twice"))
	}
	p := must.Get(s.accept(r, &queue.Job{Model: m.Name, Commitment: m.Commitment, Owner: ownerOf(r), Inputs: in}, params.Prove, rec))
	writeJSON(w, http.StatusOK, struct {
		Model   string   `json:"model_name"`
		Version string   `json:"model_version"`
		ID      string   `json:"id"`
		Outputs []output `json:"outputs"`
		*proven
	}{m.Name, m.Commitment, id, list, p})
	return nil
}
