package elementary

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exact are the functions of package math whose results are defined to the last
// bit, on every machine, and its constants.
var exact = strings.Fields(`
	Abs Ceil Copysign FMA Float32bits Float32frombits Float64bits Float64frombits Floor Frexp Inf IsInf IsNaN Ldexp Max Min Mod Modf
	NaN Nextafter Round RoundToEven Signbit Sqrt Trunc
	E Ln2 Pi Sqrt2 SqrtPi MaxFloat32 MaxFloat64 MaxInt MaxInt8 MaxInt16 MaxInt32 MaxInt64 MaxUint8 MaxUint16 MaxUint32 MaxUint64
	MinInt8 MinInt16 MinInt32 MinInt64 SmallestNonzeroFloat64`)

// keyMakers are the packages whose arithmetic decides what a key is.
var keyMakers = []string{
	"internal/elementary", "graph", "onnx", "prover/math/ints",
	"quantise", "quantise/fixed", "quantise/lower", "quantise/weights", "quantise/precision",
}

// parse returns the files of a package, without tests.
func parse(t *testing.T, fset *token.FileSet, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		t.Fatalf("no files in %s", dir)
	}
	return files
}

// Keys are made with exact functions of package math alone, and those of this
// package in place of the others.
func TestNoInexactFunctions(t *testing.T) {
	fset := token.NewFileSet()
	found := 0
	for _, dir := range keyMakers {
		for _, f := range parse(t, fset, filepath.Join("../..", dir)) {
			for _, i := range f.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if path == "math/cmplx" || path == "math" && i.Name != nil {
					t.Errorf("%s: import of %s", fset.Position(i.Pos()), i.Path.Value)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "math" && x.Obj == nil {
					found++
					if !slices.Contains(exact, s.Sel.Name) {
						t.Errorf("%s: math.%s is not the same on every machine: package elementary has one that is", fset.Position(s.Pos()), s.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if found < 100 {
		t.Errorf("only %d uses of package math were found", found)
	}
}

// Every product of floats in this package stands in a conversion, so that no
// compiler fuses it with a sum.
func TestNoFusedProducts(t *testing.T) {
	fset := token.NewFileSet()
	files := parse(t, fset, ".")
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	if _, err := conf.Check("elementary", fset, files, info); err != nil {
		t.Fatal(err)
	}
	converted := map[ast.Expr]bool{} // the arguments of conversions
	products := 0
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if info.Types[n.Fun].IsType() {
					converted[n.Args[0]] = true
				}
			case *ast.AssignStmt:
				if n.Tok == token.MUL_ASSIGN && isFloat(info, n.Lhs[0]) {
					t.Errorf("%s: a product that is not converted", fset.Position(n.Pos()))
				}
			case *ast.BinaryExpr:
				if n.Op != token.MUL || !isFloat(info, n) || info.Types[n].Value != nil {
					break
				}
				products++
				if !converted[n] {
					t.Errorf("%s: a product that is not converted", fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	if products == 0 {
		t.Error("no products were found")
	}
}

func isFloat(info *types.Info, e ast.Expr) bool {
	b, ok := info.Types[e].Type.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsFloat != 0
}
