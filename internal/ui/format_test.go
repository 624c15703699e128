package ui

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// What is indented while it is written is what the library gives.
func TestIndent(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", `"`, `\`, `\"`, `a,b:[]{}`, "\u2028"}))
	var value *rapid.Generator[any]
	value = rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			return rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 3).Draw(t, "list")
		case 1:
			return rapid.MapOfN(text, rapid.Deferred(func() *rapid.Generator[any] { return value }), 0, 3).Draw(t, "map")
		case 2:
			return text.Draw(t, "text")
		case 3:
			return rapid.Float64Range(-1e30, 1e30).Draw(t, "number")
		case 4:
			return rapid.Bool().Draw(t, "bool")
		case 5:
			return []float64{}
		case 6:
			return struct{}{}
		}
		return nil
	})
	rapid.Check(t, func(t *rapid.T) {
		b, err := json.Marshal(value.Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		var want, got bytes.Buffer
		if err := json.Indent(&want, b, "", "  "); err != nil {
			t.Fatal(err)
		}
		want.WriteByte('\n')
		if err := indent(&got, b); err != nil || got.String() != want.String() {
			t.Fatalf("%s\nnot\n%s, %v", got.String(), want.String(), err)
		}
	})
}
