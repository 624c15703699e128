package provemodel

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherPictures: a picture is compared with a proof by its pixels: the same ones in another file are what it is about, and another
// picture is not. One of another size is refused for the key, and what is no picture is.
func TestOtherPictures(t *testing.T) {
	m, committed, p, _ := provedStrings(t, "picture")
	read := func(name string) Arrays {
		t.Helper()
		arrays, err := ReadArrays("file=" + filepath.Join("internal", "picture", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return arrays
	}
	verify := func(in Arrays, words []byte) error {
		_, err := Verify(committed.Key(), bytes.NewReader(p.File), &VerifyOptions{Input: in, Vocabulary: words})
		return err
	}
	words := committed.VocabularyFile()
	if err := verify(read("quarter.jpg"), words); err != nil {
		t.Errorf("the same file: %v", err)
	}
	commented, err := os.ReadFile("internal/picture/testdata/quarter.jpg")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "commented.jpg")
	if err := os.WriteFile(path, append([]byte("\xff\xd8\xff\xfe\x00\x04hi"), commented[2:]...), 0o644); err != nil {
		t.Fatal(err)
	}
	same, err := ReadArrays(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := verify(same, words); err != nil {
		t.Errorf("a file with a comment: %v", err)
	}
	for name, why := range map[string]string{"full.jpg": "input", "colours.png": "input", "thin.jpg": "3 × 9"} {
		if err := verify(read(name), words); !errors.Is(err, ErrOtherInput) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := verify(read("quarter.jpg"), nil); !errors.Is(err, ErrOtherInput) {
		t.Errorf("without the vocabulary: %v", err)
	}
	if _, err := m.Input(Arrays{{Name: "file", Shape: []int{3}, Values: []float64{1, 2, 300}}}); err == nil || !strings.Contains(err.Error(), "number 2 is 300") {
		t.Errorf("no bytes: %v", err)
	}
	if _, err := Open("onnx/testdata/strings/picture.onnx", nil); err == nil || !strings.Contains(err.Error(), "open the model with one") {
		t.Errorf("without a picture: %v", err)
	}
}
