package hf

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/hf/gguf"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/refuse"
	"github.com/prove-model/prove-model/internal/regular"
	"github.com/prove-model/prove-model/prover/proof"
)

// TextOf returns the digests of the tokenizer and of the chat template of the model at path, zeros
// where it has none that is understood, and the tokens that end a text. The latter come from
// generation_config.json, or else config.json, or from the metadata of a GGUF file. Those that are
// not below vocabulary, the number of tokens, are left out.
func TextOf(path string, vocabulary int) (*proof.Text, error) {
	t := &proof.Text{}
	gguf := strings.EqualFold(filepath.Ext(path), ".gguf")
	from := path
	if st, err := os.Stat(path); !gguf && err == nil && !st.IsDir() {
		from = filepath.Dir(path)
	}
	if k, err := tokenizer.Open(from); err == nil {
		t.Tokenizer = k.Digest()
	}
	if c, err := chat.Open(from); err == nil {
		t.Template = c.Digest()
	}
	err := refuse.Caught(func() {
		if gguf {
			t.Ends = endsOfGGUF(path)
		} else {
			t.Ends = endsOf(from, "generation_config.json", "config.json")
		}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(t.Ends)
	t.Ends = slices.DeleteFunc(slices.Compact(t.Ends), func(id int) bool { return id < 0 || id >= vocabulary })
	return t, nil
}

// endsOf reads eos_token_id, one token or a list of tokens, from the first of the named files in
// dir that has this field. It returns nil if none has it.
func endsOf(dir string, names ...string) []int {
	for _, name := range names {
		var fields struct {
			Ends json.RawMessage `json:"eos_token_id"`
		}
		readFields(dir, name, &fields)
		var one int
		var several []int
		switch {
		case len(fields.Ends) == 0 || string(fields.Ends) == "null":
			continue
		case json.Unmarshal(fields.Ends, &one) == nil:
			return []int{one}
		case json.Unmarshal(fields.Ends, &several) == nil:
			return several
		}
		refuse.With("%s: eos_token_id is neither a token nor a list of tokens", name)
	}
	return nil
}

// readFields reads the JSON file dir/name into fields, as json.Unmarshal does. It does nothing if there is no such file.
func readFields(dir, name string, fields any) {
	data, err := regular.Read(filepath.Join(dir, name), maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	must.OK(err)
	must.OK(of(name, json.Unmarshal(data, fields)))
}

// startOf returns the tokens that an encoder–decoder's answers begin with: decoder_start_token_id, and after it forced_bos_token_id if
// there is one. generation_config.json counts before config.json. start is returned where neither file has the first field.
func startOf(dir string, start []int, vocabulary int) []int {
	var fields struct {
		Start  *int `json:"decoder_start_token_id"`
		Forced *int `json:"forced_bos_token_id"`
	}
	for _, name := range []string{"config.json", "generation_config.json"} { // the latter counts
		readFields(dir, name, &fields)
	}
	if fields.Start != nil {
		start = []int{*fields.Start}
	}
	if fields.Forced != nil {
		start = append(slices.Clone(start), *fields.Forced)
	}
	return startIn(vocabulary, start)
}

// startIn returns start, the tokens that a decoder begins with, and refuses those outside the vocabulary.
func startIn(vocabulary int, start []int) []int {
	for _, id := range start {
		if id < 0 || id >= vocabulary {
			refuse.With("the decoder begins with token %d, where the model's are 0 to %d", id, vocabulary-1)
		}
	}
	return start
}

// endsOfGGUF reads the tokens that end a text, a turn or a message from the metadata of a GGUF file.
func endsOfGGUF(path string) (ends []int) {
	f := must.Get(gguf.Open(path))
	defer f.Close()
	for _, name := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		if id, ok := f.Meta["tokenizer.ggml."+name].(int64); ok && id >= 0 {
			ends = append(ends, int(id))
		}
	}
	return ends
}
