package lower

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folded are the types of operators that only serve to fold constants: the builder refuses
// a graph in which one is left.
var folded = []string{"Comparison", "Not"}

// Every type of operators of package graph has an entry in the table, and every entry is
// one of them.
func TestEveryOperatorHasAnEntry(t *testing.T) {
	files, err := filepath.Glob("../../graph/*.go")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			// Op has unexported methods, so its types are those with eval.
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && m.Name.Name == "eval" {
				want[m.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
	if len(want) < 30 {
		t.Fatalf("only %d types of operators found", len(want))
	}
	for _, name := range folded {
		if !want[name] {
			t.Errorf("%s is no operator", name)
		}
		delete(want, name)
	}
	have := map[string]bool{}
	for typ := range operators {
		have[typ.Name()] = true
	}
	if !maps.Equal(want, have) {
		t.Errorf("the table has %v, graph %v", slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want)))
	}
}
