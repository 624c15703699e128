// Package golden makes the keys and proofs whose bytes are stored in testdata/golden.
// It makes them from a circuit, weights and an input that are stored there too, without
// a model reader or the quantiser, so both of these may change. A change of the
// protocol, of a file format or of a backend's results changes the bytes.
//
// A case is a folder:
//
//	key.vk       the key, which holds the circuit and the security asked for
//	run.proof    the proof of the run on the inputs; its header has the sizes
//	weights.gz   the values of the fixed tensors (see ReadWeights)
//	inputs.json  the quantised inputs, one list of integers for each
//
// scripts/golden writes the folders from ONNX models.
package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
)

// The files of a case.
const (
	keyFile     = "key.vk"
	proofFile   = "run.proof"
	weightsFile = "weights.gz"
	inputsFile  = "inputs.json"
)

// Circuit has everything that a key and a proof are made from.
type Circuit struct {
	Template *model.Template
	Instance model.Instance
	Security proof.Security
	Weights  model.Weights
	Inputs   [][]int32   // one dense slice for each of the circuit's inputs
	Text     *proof.Text // of a language model's key, else nil
}

// Files are an encoded key and an encoded proof.
type Files struct{ Key, Proof []byte }

// Case is the content of a folder: a circuit, and the files that Make must give for it.
type Case struct {
	Name string
	Circuit
	Want Files
}

// Machine says which device does the work. The zero value is the processor.
type Machine struct {
	Forward forward.Machine // nil: the processor
	Prover  prover.Options
}

// ReadAll reads all cases of a folder, by name.
func ReadAll(folder string) ([]*Case, error) { return eachFolder(folder, Read) }

// eachFolder calls read for each folder within a folder, in the order of their names.
func eachFolder[T any](folder string, read func(folder string) (T, error)) (all []T, err error) {
	defer must.Catch(&err)
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		one := must.GetAs(read(filepath.Join(folder, e.Name())))("golden case %s", e.Name())
		all = append(all, one)
	}
	return all, err
}

// ReadMasked reads the keys and masked proofs of a folder such as testdata/masked. The cases lack the circuits and
// inputs, since a masked proof has other bytes each time that it is made.
func ReadMasked(folder string) ([]*Case, error) {
	return eachFolder(folder, func(folder string) (*Case, error) {
		c := &Case{Name: "masked " + filepath.Base(folder)}
		return c, c.Want.read(folder)
	})
}

// read reads the key and the proof in a folder.
func (f *Files) read(folder string) (err error) {
	if f.Key, err = os.ReadFile(filepath.Join(folder, keyFile)); err == nil {
		f.Proof, err = os.ReadFile(filepath.Join(folder, proofFile))
	}
	return err
}

// Read reads the case of one folder.
func Read(folder string) (_ *Case, err error) {
	defer must.Catch(&err)
	c := &Case{Name: filepath.Base(folder)}
	must.OK(c.Want.read(folder))
	key := must.Get(proof.DecodeKey(c.Want.Key))
	c.Template, c.Security, c.Text = key.Circuit, key.Security, key.Text()
	c.Instance = must.Get(instance(c.Want.Proof))
	w := must.Get(os.Open(filepath.Join(folder, weightsFile)))
	defer w.Close()
	c.Weights = must.Get(ReadWeights(w, c.Template.Graph))
	text := must.Get(os.ReadFile(filepath.Join(folder, inputsFile)))
	return c, json.Unmarshal(text, &c.Inputs)
}

// instance reads the instance of the circuit from a proof's header.
func instance(file []byte) (_ model.Instance, err error) {
	defer must.Catch(&err)
	r := must.Get(proof.NewReader(bytes.NewReader(file)))
	return r.Header().Instance(), nil
}

// Write makes the files of a circuit and writes its case into a folder.
func Write(ctx context.Context, folder string, c *Circuit) (err error) {
	defer must.Catch(&err)
	files := must.Get(c.Make(ctx, Machine{}))
	inputs := must.Get(json.Marshal(c.Inputs))
	var weights bytes.Buffer
	must.OK(WriteWeights(&weights, c.Template.Graph, c.Weights))
	must.OK(os.MkdirAll(folder, 0o755))
	for name, data := range map[string][]byte{
		keyFile: files.Key, proofFile: files.Proof, weightsFile: weights.Bytes(), inputsFile: append(inputs, '\n'),
	} {
		must.OK(os.WriteFile(filepath.Join(folder, name), data, 0o644))
	}
	return nil
}

// Make runs the circuit on its inputs, commits to its weights, and proves the run.
func (c *Circuit) Make(ctx context.Context, m Machine) (_ *Files, err error) {
	defer must.Catch(&err)
	whole := c.Instance
	whole.Reveals = nil
	g := must.Get(c.Template.At(whole))
	wit := must.Get(forward.RunOn(ctx, m.Forward, g, c.Weights, g.Widen(c.Inputs, nil, true)))
	if len(c.Instance.Reveals) > 0 {
		if g, err = c.Template.At(c.Instance); err == nil {
			wit, err = forward.Restate(ctx, m.Forward, wit, g)
		}
		must.OK(err)
	}
	defer wit.Close()
	key, tree, err := prover.Commit(ctx, c.Template, c.Weights, c.Security, m.Prover)
	must.OK(err)
	if c.Text != nil {
		must.OK(key.SetText(c.Text))
	}
	f := &Files{}
	f.Key = must.Get(proof.EncodeKey(key))
	var out bytes.Buffer
	if c.Instance.Segment != nil {
		m.Prover.Segment = &prover.Segment{} // a first segment: a case holds no keys and values of segments before
	}
	must.Get(prover.Prove(ctx, key, c.Instance, tree, wit, &out, m.Prover))
	f.Proof = out.Bytes()
	return f, nil
}
