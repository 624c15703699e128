package tokenizer

import (
	"encoding/json"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/quote"
	"github.com/prove-model/prove-model/internal/refuse"
)

// unknown refuses something that is not supported.
func unknown(what, name string) {
	refuse.With("%s %s is not one that is understood; the text could not be split as the model expects", what, quote.Name(name))
}

// unmarshalled reads JSON of which fields may be unknown.
func unmarshalled[T any](raw json.RawMessage) (v T) {
	must.OK(json.Unmarshal(raw, &v))
	return v
}
