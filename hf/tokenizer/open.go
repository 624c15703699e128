//go:build !js

// In a browser there are no paths. Code there calls the parser of a file's format with its contents.

package tokenizer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prove-model/prove-model/hf/gguf"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/regular"
)

// maxFile is the most bytes of a tokenizer's file; the largest vocabularies take 40
// MB.
const maxFile = 1 << 28

// Open reads the tokenizer at path: a folder, of which it reads tokenizer.json or, if there is
// none, tokenizer.model; or a .json, .model or .gguf file.
func Open(path string) (*Tokenizer, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		missing := func(file string) bool {
			_, err := os.Stat(file)
			return errors.Is(err, os.ErrNotExist)
		}
		dir := path
		if path = filepath.Join(dir, "tokenizer.json"); missing(path) {
			path = filepath.Join(dir, "tokenizer.model")
		}
		if missing(path) {
			return nil, fmt.Errorf("%s has neither tokenizer.json nor tokenizer.model", dir)
		}
	}
	t, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func open(path string) (_ *Tokenizer, err error) {
	defer must.Catch(&err)
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gguf":
		f := must.Get(gguf.Open(path))
		defer f.Close()
		return FromGGUF(f.Meta)
	case ".json":
		return ParseJSON(must.Get(regular.Read(path, maxFile)))
	case ".model":
		return ParseSentencePiece(must.Get(regular.Read(path, maxFile)))
	}
	return nil, errors.New("a tokenizer is read from .json, .model and .gguf files")
}
