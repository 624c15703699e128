package main

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/regular"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/vocabulary"
)

var vocabularyFile = kind{"a vocabulary", vocabulary.Begins}

// vocabularyPath returns the file of the vocabulary of the key in a file.
func vocabularyPath(cfg *config.Config, vk string) string {
	return cmp.Or(cfg.Vocabulary, vk+".vocabulary")
}

// writeVocabulary writes the vocabulary of a model to file, which it creates unless --vocabulary has named it. It
// returns nil if the model has no strings.
func writeVocabulary(cfg *config.Config, files *outputs, file *output, vk string, m *provemodel.Model) (_ *output, err error) {
	words := m.VocabularyFile()
	if words == nil {
		if cfg.Vocabulary != "" {
			return nil, job.WithHint(fmt.Errorf("--vocabulary %s: the model takes no strings and names no classes, so it has none", cfg.Vocabulary), "leave it out")
		}
		return nil, nil
	}
	if file == nil {
		if file, err = files.create("", vocabularyPath(cfg, vk), vocabularyFile); err != nil {
			return nil, err
		}
	}
	return file, file.write(words)
}

// readVocabulary reads the vocabulary of --vocabulary, or else the one beside the key, if it exists and has the digest
// that the key holds; nil if there is none.
func readVocabulary(cfg *config.Config) (_ []byte, err error) {
	defer must.Catch(&err)
	if cfg.Vocabulary != "" {
		return must.GetAs(regular.Read(cfg.Vocabulary, vocabulary.MaxSize))("vocabulary"), nil
	}
	path := vocabularyPath(cfg, cfg.VK)
	if _, err := os.Stat(path); err != nil {
		return nil, nil
	}
	file, err := regular.Read(path, vocabulary.MaxSize)
	if err != nil {
		return nil, nil // no error, as no setting has named the file
	}
	key, _ := keyIn(cfg.VK)
	if key == nil || key.Vocabulary() == nil || *key.Vocabulary() != vocabulary.Digest(file) {
		return nil, nil // verifying reports what is wrong with the key, or that the vocabulary is missing
	}
	return file, nil
}

// wordsSaid says what verifying has checked about strings.
type wordsSaid struct {
	// Digest is the digest of the key's vocabulary.
	Digest string `json:"digest"`
	// Given says that the vocabulary was available. Compared says that strings were given, and that the vocabulary maps
	// them to the numbers of the proof.
	Given    bool `json:"given"`
	Compared bool `json:"compared"`

	takes bool   // whether the model takes strings
	of    string // what is mapped to numbers: strings or pictures
}

// stringsOf says what was checked about strings; nil for a model without strings.
func stringsOf(s *provemodel.Statement, compared bool) *wordsSaid {
	if s.Vocabulary == nil {
		return nil
	}
	of := "strings"
	if s.Words.Files() {
		of = "pictures"
	}
	return &wordsSaid{hex.EncodeToString(s.Vocabulary[:]), s.Words != nil, compared && s.Words.Takes(), s.Words.Takes(), of}
}

// Print writes a line about what was checked; nothing if s is nil.
func (s *wordsSaid) Print(w io.Writer) {
	switch {
	case s == nil:
	case !s.Given:
		ui.Line(w, "strings", "not checked: numbers stand for strings by the vocabulary with digest %s, which is not given (--vocabulary)", s.Digest)
	case s.Compared:
		fmt.Fprintf(w, "%-11s those given become these numbers by the key's vocabulary, digest %s: that is checked here, outside of the proof\n", s.of, s.Digest)
	case s.takes:
		fmt.Fprintf(w, "%-11s none are given (--input): numbers follow from %s by the key's vocabulary, digest %s, outside of the proof\n", s.of, s.of, s.Digest)
	default:
		ui.Line(w, "strings", "names of classes are those of the key's vocabulary, digest %s, outside of the proof", s.Digest)
	}
}

// printNames prints the names of an output's columns, if they have names.
func printNames(w io.Writer, t provemodel.Tensor) {
	if len(t.Columns) == 0 {
		return
	}
	names := ""
	for i, c := range t.Columns[:min(previewed, len(t.Columns))] {
		if i > 0 {
			names += ", "
		}
		names += ui.Printable(c)
	}
	if n := len(t.Columns); n > previewed {
		names += fmt.Sprintf(" … (%d)", n)
	}
	ui.Line(w, "columns", "%s of %s", names, t.Name)
}
