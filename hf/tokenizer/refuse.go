package tokenizer

import (
	"encoding/json"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// unknown refuses a file because of something that is not supported, such as a splitter: what says what it is, and name is its name in the
// file.
func unknown(what, name string) {
	refuse.With("%s %s is not one that is understood; the text could not be split as the model expects", what, quote.Name(name))
}

// unmarshalled reads JSON, and ignores unknown fields.
func unmarshalled[T any](raw json.RawMessage) (v T) {
	must.OK(json.Unmarshal(raw, &v))
	return v
}
