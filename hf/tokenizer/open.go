//go:build !js

// In a browser there are no paths: what has a file's content calls its parser.

package tokenizer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prove-model/prove-model/hf/gguf"
	"github.com/prove-model/prove-model/internal/regular"
)

// maxFile is the most bytes of a tokenizer's file; the largest vocabularies take 40
// MB.
const maxFile = 1 << 28

// Open reads a tokenizer: of a folder, from tokenizer.json or, without that,
// tokenizer.model; from a file of one of these kinds; or from a .gguf file.
func Open(path string) (*Tokenizer, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		dir := path
		path = filepath.Join(dir, "tokenizer.json")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			path = filepath.Join(dir, "tokenizer.model")
			if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("%s has neither tokenizer.json nor tokenizer.model", dir)
			}
		}
	}
	t, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func open(path string) (*Tokenizer, error) {
	parse := ParseJSON
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gguf":
		f, err := gguf.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return FromGGUF(f.Meta)
	case ".json":
	case ".model":
		parse = ParseSentencePiece
	default:
		return nil, errors.New("a tokenizer is read from .json, .model and .gguf files")
	}
	data, err := regular.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	return parse(data)
}
