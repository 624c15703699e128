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

func asTimeout(err error, to *net.Error) bool { return errors.As(err, to) && (*to).Timeout() }

// neutral are parameters of OpenAI's API that have one value here: what they have there when they are left out.
var neutral = map[string][]string{
	"n": {"1"}, "best_of": {"1"}, "echo": {"false"}, "frequency_penalty": {"0", "0.0"}, "presence_penalty": {"0", "0.0"},
	"logit_bias": {"{}"}, "tools": {"[]"}, "store": {"false"}, "suffix": {`""`}, "service_tier": {`"auto"`, `"default"`},
	"response_format": {`{"type":"text"}`}, "tool_choice": {`"none"`}, "parallel_tool_calls": {"true", "false"}, "modalities": {`["text"]`},
}

// passed are parameters that say nothing of the answer.
var passed = []string{"user", "metadata", "safety_identifier", "prompt_cache_key"}

// parameters reads the members of a request into fields of a struct by their names, and refuses all others by name, so that nobody takes
// an answer for what it is not.
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

// wanted says what a member should be, without Go's types.
func wanted(err error) string {
	var e *json.UnmarshalTypeError
	if errors.As(err, &e) {
		return "it is a " + e.Value
	}
	return err.Error()
}
