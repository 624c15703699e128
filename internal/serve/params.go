package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/prove-model/prove-model/internal/serve/request"
)

// asTimeout says whether an error is that of a connection which took too long, and stores it in to.
func asTimeout(err error, to *net.Error) bool { return errors.As(err, to) && (*to).Timeout() }

// neutral has parameters of OpenAI's API that this server does not implement, with the values that it accepts all the
// same: those that have the same effect as leaving the parameter out.
var neutral = map[string][]string{
	"n": {"1"}, "best_of": {"1"}, "echo": {"false"}, "frequency_penalty": {"0", "0.0"}, "presence_penalty": {"0", "0.0"},
	"logit_bias": {"{}"}, "tools": {"[]"}, "store": {"false"}, "suffix": {`""`}, "service_tier": {`"auto"`, `"default"`},
	"response_format": {`{"type":"text"}`}, "tool_choice": {`"none"`}, "parallel_tool_calls": {"true", "false"}, "modalities": {`["text"]`},
}

// passed are parameters of OpenAI's API that do not change the answer; they are ignored.
var passed = []string{"user", "metadata", "safety_identifier", "prompt_cache_key"}

// parameters reads the members of a request's JSON object into fields, by their names. It refuses every member that it does not know, so
// that nobody believes it had an effect.
func parameters(data []byte, fields map[string]any) error {
	var members map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&members); err != nil || members == nil || d.More() {
		return bad("", "invalid_json", errors.New("the request is not one object of JSON"))
	}
	for name, value := range members {
		if string(value) == "null" || slices.Contains(passed, name) {
			continue
		}
		if field, ok := fields[name]; ok {
			if err := json.Unmarshal(value, field); err != nil {
				return bad(name, "invalid_type", fmt.Errorf("%s is not what it should be: %s", name, wanted(err)))
			}
			continue
		}
		allowed, known := neutral[name]
		var flat bytes.Buffer
		if known && json.Compact(&flat, value) == nil && slices.Contains(allowed, flat.String()) {
			continue
		}
		if known {
			return bad(name, "unsupported_value", fmt.Errorf("%s is not supported with this value: leave it out", request.Short(name)))
		}
		return bad(request.Short(name), "unsupported_parameter", fmt.Errorf("%s is not supported", request.Short(name)))
	}
	return nil
}

// wanted says what is wrong with a member, without names of Go's types.
func wanted(err error) string {
	var e *json.UnmarshalTypeError
	if errors.As(err, &e) {
		return "it is a " + e.Value
	}
	return err.Error()
}
