package chat

import (
	"bytes"
	"encoding/json"
	"math"
)

// toJSON writes JSON as Python's json.dumps does with ensure_ascii=False: characters beyond ASCII are not escaped.
func (s *state) toJSON(v any, list []any, named map[string]any) any {
	indent := -1
	if n, ok := argument(list, named, 0, "indent", nil).(int); ok {
		indent = min(max(n, 0), 64)
	}
	var b bytes.Buffer
	s.writeJSON(&b, v, indent, 0)
	return b.String()
}

// writeJSON writes v, within depth lists and mappings. If indent is not negative, every element is on a line of its own, indented by that
// many spaces for each level.
func (s *state) writeJSON(b *bytes.Buffer, v any, indent, depth int) {
	s.nested(depth)
	s.spend(1, 4*stepWork)
	line := func(depth int) {
		if indent >= 0 {
			s.spend(indent, max(depth, 1))
			b.WriteByte('\n')
			b.Write(bytes.Repeat([]byte(" "), indent*depth))
		}
	}
	nested := func(open, close byte, n int, one func(i int)) {
		b.WriteByte(open)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
				if indent < 0 {
					b.WriteByte(' ')
				}
			}
			line(depth + 1)
			one(i)
		}
		if n > 0 {
			line(depth)
		}
		b.WriteByte(close)
	}
	switch v := v.(type) {
	case []any:
		nested('[', ']', len(v), func(i int) { s.writeJSON(b, v[i], indent, depth+1) })
	case *dict:
		nested('{', '}', len(v.keys), func(i int) {
			s.writeJSON(b, v.keys[i], indent, depth+1)
			b.WriteString(": ")
			s.writeJSON(b, v.items[v.keys[i]], indent, depth+1)
		})
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			s.fail("%v, which JSON does not have", v)
		}
		s.writeRepr(b, v, depth)
	case nil, bool, int, string:
		if text, ok := v.(string); ok {
			s.spend(len(text), 8) // an escape takes six bytes
		}
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			s.fail("%v", err)
		}
		b.Truncate(b.Len() - 1) // Encode ends with a newline
	default:
		s.fail("%s, which JSON does not have", brief(v))
	}
}
