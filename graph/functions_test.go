package graph

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// TestFunctions checks what every entry promises: a value where it is defined and
// none where it says that it is not, and a line in the documentation.
func TestFunctions(t *testing.T) {
	text, err := os.ReadFile("../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]bool{} // the words of every table's first column
	for line := range strings.Lines(string(text)) {
		if first, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(line, "|") {
			for _, word := range strings.FieldsFunc(first, func(r rune) bool { return r == ',' || r == ' ' }) {
				cells[word] = true
			}
		}
	}
	for _, f := range functions {
		// What serves constants only is named in the text, Trunc as part of Cast.
		if !cells[f.Name] && !strings.Contains(string(text), "`"+f.Name+"`") && f != Trunc {
			t.Errorf("docs/operators.md has no line for %s", f.Name)
		}
		if FunctionNamed(f.Name) != f {
			t.Errorf("%s is not found by its name", f.Name)
		}
		var params []float64
		for _, p := range f.Params {
			params = append(params, p.Default)
		}
		at := Scalar{f, params}.Of()
		for _, x := range []float64{-1e3, -2, -1 - 1e-9, -1, -0.5, 0, 0.5, 1, 1 + 1e-9, 2, 1e3} {
			if y := at(x); math.IsNaN(y) == f.Domain.Contains(x) {
				t.Errorf("%s(%v) = %v, but its domain is %+v", f.Name, x, y, f.Domain)
			}
		}
		if got := fmt.Sprintf("%#v", Scalar{f, nil}); !strings.Contains(got, "graph."+f.Name) {
			t.Errorf("%s prints as %s", f.Name, got)
		}
	}
}

// TestFunctionsOnIntegers compares the functions that take integers with
// themselves on floats.
func TestFunctionsOnIntegers(t *testing.T) {
	n := 0
	for _, f := range functions {
		params := []float64{-2, 3}[:len(f.Params)] // Clip
		if f.Ints == nil && f.Clamp == nil {
			continue
		}
		n++
		x := []int64{-7, -2, -1, 0, 1, 3, 4, 1 << 40}
		in := operand{shape: []int{len(x)}, i: x}
		got := Scalar{f, params}.eval([]operand{in}, in.shape)
		want := Scalar{f, params}.eval([]operand{{shape: in.shape, f: in.float64s()}}, in.shape)
		for i := range x {
			if float64(got.i[i]) != want.f[i] {
				t.Errorf("%s(%d) = %d, on floats %v", f.Name, x[i], got.i[i], want.f[i])
			}
		}
	}
	if n != 5 {
		t.Errorf("%d functions take integers", n)
	}
}

func TestWhole(t *testing.T) {
	for x, want := range map[float64]int64{
		1.9: 1, -1.9: -1, 0x1p63: math.MaxInt64, -0x1p63: math.MinInt64, 0x1p62: 1 << 62,
		math.Inf(1): math.MaxInt64, -1e300: math.MinInt64, math.NaN(): 0,
	} {
		if whole(x) != want {
			t.Errorf("%v becomes %d", x, whole(x))
		}
	}
}

func TestClampKeepsLargeIntegers(t *testing.T) {
	c := Clamp{Lo: math.Inf(-1), Hi: math.Inf(1)}
	for _, a := range []int64{math.MaxInt64, math.MinInt64, 1<<53 + 1} {
		if c.ints(a) != a {
			t.Errorf("%d becomes %d", a, c.ints(a))
		}
	}
}
