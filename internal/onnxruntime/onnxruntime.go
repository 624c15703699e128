// Package onnxruntime runs ONNX models with ONNX Runtime, through Python. The outputs are a reference that is independent of
// this program's own float model.
package onnxruntime

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/statement"
)

//go:embed run.py
var script string

// Array is an input, row-major. If Shape is nil, the input has the shape that the model declares, in
// which one axis may be open.
type Array struct {
	Shape  []int
	Values []float64
}

// array is the JSON of an Array as the script reads and writes it. Data has the values as
// little-endian float64.
type array struct {
	Shape []int  `json:"shape"`
	Data  []byte `json:"data"`
}

// Run runs the model in a file and returns the outputs of the given names, in order. The environment variable
// PROVE_MODEL_PYTHON names the Python interpreter; the default is python3.
func Run(ctx context.Context, path string, inputs map[string]Array, outputs []string) (_ []statement.Tensor, err error) {
	defer must.Catch(&err)
	job := struct {
		Model   string           `json:"model"`
		Inputs  map[string]array `json:"inputs"`
		Outputs []string         `json:"outputs"`
	}{path, map[string]array{}, outputs}
	for name, a := range inputs {
		job.Inputs[name] = array{a.Shape, encode(a.Values)}
	}
	in := must.Get(json.Marshal(job))
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("PROVE_MODEL_PYTHON"), "python3"), "-c", script)
	var printed, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &printed, &complaints
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("ONNX Runtime: %w", cmp.Or(lastLine(complaints.String()), err))
	}
	var made []array
	must.OKAs(json.Unmarshal(printed.Bytes(), &made), "ONNX Runtime")
	if len(made) != len(outputs) {
		return nil, fmt.Errorf("ONNX Runtime: %d outputs of %d", len(made), len(outputs))
	}
	out := make([]statement.Tensor, 0, len(made))
	for i, a := range made {
		out = append(out, statement.Tensor{Name: outputs[i], Shape: a.Shape, Values: decode(a.Data)})
	}
	return out, nil
}

// lastLine returns the last line of a Python program's error output, which names the
// exception, as an error; nil if there is none.
func lastLine(s string) error {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return errors.New(last)
	}
	return nil
}

func encode(v []float64) []byte {
	out := make([]byte, 0, 8*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
	}
	return out
}

func decode(b []byte) []float64 {
	out := make([]float64, len(b)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out
}
