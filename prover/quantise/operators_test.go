package quantise

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/onnx"
)

// The reader's operator cases: odd sizes, strides, pads, dilations, groups,
// broadcasting, every attribute. Integers must follow the float reference.
func TestOperators(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "onnx", "testdata", "operators", "*.onnx"))
	if len(paths) < 100 {
		t.Fatalf("only %d cases", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".onnx"), func(t *testing.T) {
			in, err := onnx.ReadInputs(strings.TrimSuffix(path, ".onnx") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			g, err := onnx.Load(path, in.Options(nil))
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			_, _, got, want := run(t, g, in.Data(), Options{})
			for i := range got {
				if a := Compare(got[i], want[i]); a.Relative > 0.01 || len(want[i]) >= 8 && a.Cosine < 0.999 {
					t.Errorf("output %d: error %.4f of the range %.4g, cosine %.6f\n%.4g\n%.4g", i, a.Relative, a.Range, a.Cosine, got[i], want[i])
				}
			}
		})
	}
}
