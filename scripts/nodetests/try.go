package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/graph"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/onnx"
)

// verdict is the result of a test.
type verdict string

const (
	right      verdict = "right"
	rightFixed verdict = "right, fixed" // with inputs fixed in the model
	refused    verdict = "refused"
	said       verdict = "said" // the outputs are off, and the command warns of it
	odd        verdict = "odd"  // no test of numeric tensors
	wrong      verdict = "wrong"
	crash      verdict = "crash"
)

type result struct {
	verdict verdict
	why     string
	fixed   []string // the inputs that were fixed in the model
	modes   []result // in the other modes, in the order of modes; nil if the test is not right in auto
	all     bool     // all inputs were fixed
	proved  bool
}

// bar is how far floats may be from those that the package has, as a fraction of their range.
const bar = 0.005

// saidBar is how far the outputs of a run may be from those of the float model without a warning of
// the command, as a fraction of their range. Integers must be equal.
const saidBar = 0.01

// modes are the modes other than auto, with their bars. A value of 8 bits is off by 0.2 % when it is
// rounded once, and a steep function makes that more.
var modes = []struct {
	name string
	bar  float64
}{{"w8a8", 0.05}, {"exact", 0.002}}

// try runs the test in the folder dir on integers and, if it is not later than end, proves it. If drawn is
// set, only outputs that are off without a warning are wrong.
func try(dir string, t test, drawn bool, end time.Time, rng *rand.Rand) (r result) {
	if t.Odd != "" {
		return result{verdict: odd, why: t.Odd}
	}
	defer func() {
		if p := recover(); p != nil {
			r = result{verdict: crash, why: fmt.Sprintf("%v\n%s", p, debug.Stack())}
		}
	}()
	r, err := ran(dir, drawn, end, rng)
	if err != nil {
		return result{verdict: refused, why: err.Error()}
	}
	return r
}

// ran is try for a test of numeric tensors. Its error is that of the model's reader or the quantiser, which refuse the test.
func ran(dir string, drawn bool, end time.Time, rng *rand.Rand) (r result, err error) {
	defer must.Catch(&err)
	want := must.Get(tensors(dir, "output"))
	m, in, fixed, err := open(dir, false)
	must.OK(err)
	defer func() { m.Close() }()
	ctx := context.Background()
	float, err := m.Run(ctx, in)
	if err != nil && strings.Contains(err.Error(), "--fix makes part of the model") {
		constant, no, names, failed := open(dir, true)
		must.OK(failed)
		m.Close()
		m, in, fixed = constant, no, names
		float, err = m.Run(ctx, in)
	}
	must.OK(err)
	c := must.Get(provemodel.Quantise(ctx, m, []provemodel.Input{in}, nil))
	got := must.Get(c.Run(ctx, in)).Outputs
	off := func(why string) (result, error) { return result{verdict: wrong, why: why, fixed: fixed}, nil }
	if drawn {
		if why := compare(got, want, saidBar); why == "" {
			return result{verdict: right}, nil
		} else if warned(got, float) {
			return result{verdict: said, why: why}, nil
		} else {
			return off(why)
		}
	}
	if why := compare(float, want, 1e-3); why != "" {
		return off("the float model: " + why)
	}
	if why := compare(got, want, bar); why != "" {
		return off(why)
	}
	r = result{verdict: right, fixed: fixed}
	if len(fixed) > 0 {
		r.verdict, r.all = rightFixed, len(in) == 0
	}
	for _, mode := range modes {
		r.modes = append(r.modes, inMode(ctx, m, in, want, mode.name, mode.bar))
	}
	if time.Now().Before(end) {
		if err := proves(ctx, c, in, rng); err != nil {
			return off(fmt.Sprintf("proving: %v", err))
		}
		r.proved = true
	}
	return r, nil
}

// warned reports whether the command would warn about a run with the outputs got, where the float model's are float.
func warned(got, float []provemodel.Tensor) bool {
	for i, f := range float {
		a, err := provemodel.Compare(got[i], f)
		if err != nil || a.RangeError > saidBar || a.Unequal > 0 || a.NearWhole > 0 || a.Beyond > 0 {
			return true
		}
	}
	return false
}

// inMode quantises the model in another mode, and runs and compares it.
func inMode(ctx context.Context, m *provemodel.Model, in provemodel.Input, want onnx.Inputs, mode string, bar float64) result {
	c, err := provemodel.Quantise(ctx, m, []provemodel.Input{in}, &provemodel.QuantiseOptions{Mode: mode})
	if err != nil {
		return result{verdict: refused, why: err.Error()}
	}
	ran, err := c.Run(ctx, in)
	if err != nil {
		return result{verdict: refused, why: err.Error()}
	}
	if why := compare(ran.Outputs, want, bar); why != "" {
		return result{verdict: wrong, why: why}
	}
	return result{verdict: right}
}

// tensors reads the files input_0.pb, input_1.pb and so on of a folder, or those of its outputs; what is "input" or "output".
func tensors(dir, what string) (onnx.Inputs, error) {
	var list onnx.Inputs
	for i := 0; ; i++ {
		path := filepath.Join(dir, fmt.Sprintf("%s_%d.pb", what, i))
		if found, _ := filepath.Glob(path); found == nil {
			return list, nil
		}
		in, err := onnx.ReadInputs(path)
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i, err)
		}
		list = append(list, in...)
	}
}

// depends finds the parts of an error that name inputs which the reader needs: an input itself, or those
// that a value is computed from.
var depends = regexp.MustCompile(`"[^"]*" depends on the model's inputs?( "[^"]*",?)*`)

var name = regexp.MustCompile(`"([^"]*)"`)

// open reads a test's model and the input that is left. It fixes the inputs that the
// reader needs to know in the model, or all of them if whole is set, and returns their names.
func open(dir string, whole bool) (*provemodel.Model, provemodel.Input, []string, error) {
	all, err := tensors(dir, "input")
	if err != nil {
		return nil, nil, nil, err
	}
	var fixed []string
	if whole {
		for _, v := range all {
			fixed = append(fixed, v.Name)
		}
	}
	for {
		var given, constant onnx.Inputs
		for _, v := range all {
			if slices.Contains(fixed, v.Name) {
				constant = append(constant, v)
			} else {
				given = append(given, v)
			}
		}
		m, err := provemodel.Open(filepath.Join(dir, "model.onnx"), &provemodel.OpenOptions{Input: given, BindInput: constant})
		if err == nil {
			in, err := m.Input(given)
			if err != nil {
				m.Close()
			}
			return m, in, fixed, err
		}
		more := false
		for _, found := range name.FindAllStringSubmatch(strings.Join(depends.FindAllString(err.Error(), -1), " "), -1) {
			if slices.ContainsFunc(given, func(v onnx.Input) bool { return v.Name == found[1] }) && !slices.Contains(fixed, found[1]) {
				fixed, more = append(fixed, found[1]), true
			}
		}
		if !more {
			return nil, nil, nil, err
		}
	}
}

// compare returns in words how outputs differ from those that are wanted, or "" if they do not. bar is the allowed error of floats as a
// fraction of their range.
func compare(got []provemodel.Tensor, want onnx.Inputs, bar float64) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d outputs, not %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if !slices.Equal(g.Shape, w.Shape) {
			return fmt.Sprintf("output %d has shape %v, not %v", i, g.Shape, w.Shape)
		}
		lo, hi := 0.0, 0.0
		for _, x := range w.Values {
			if x-x == 0 {
				lo, hi = min(lo, x), max(hi, x)
			}
		}
		allowed := bar*(hi-lo) + 1e-6
		switch {
		case w.DType == graph.BFloat16: // the package rounds to it now and then
			allowed += 0.01 * (hi - lo)
		case !w.DType.IsFloat():
			allowed = 0.499
		}
		for j, x := range w.Values {
			if math.IsNaN(x) && math.IsNaN(g.Values[j]) || math.IsInf(x, 0) && g.Values[j] == x {
				continue
			}
			if !(math.Abs(g.Values[j]-x) <= allowed) {
				return fmt.Sprintf("output %d, entry %d is %v, not %v, of [%v, %v]", i, j, g.Values[j], x, lo, hi)
			}
		}
	}
	return ""
}

// alterations is how many bits of a proof are changed, one at a time.
const alterations = 8

// proves proves a test's run and verifies the proof. It also checks that the proof is refused when a bit
// is changed, anywhere in it: in the header, the inputs and outputs, the prover's messages, or the
// openings.
func proves(ctx context.Context, circuit *provemodel.Circuit, in provemodel.Input, rng *rand.Rand) (err error) {
	defer must.Catch(&err)
	// Few bits of security make it quick; a flipped bit must be refused all the same.
	committed := must.Get(provemodel.Commit(ctx, circuit, &provemodel.CommitOptions{SecurityBits: 60, GrindBits: 2}))
	p := must.Get(provemodel.Prove(ctx, committed, in, nil))
	verify := func(file []byte) error {
		_, err := provemodel.Verify(committed.Key(), bytes.NewReader(file), &provemodel.VerifyOptions{MinBits: 1})
		return err
	}
	must.OK(verify(p.File))
	for range alterations {
		altered := slices.Clone(p.File)
		at, bit := rng.IntN(len(altered)), rng.IntN(8)
		altered[at] ^= 1 << bit
		if verify(altered) == nil {
			return fmt.Errorf("with bit %d of byte %d of %d changed it is accepted", bit, at, len(altered))
		}
	}
	return nil
}
