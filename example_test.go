package provemodel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	provemodel "github.com/prove-model/prove-model"
)

// load opens the bundled model of handwritten digits, and returns images to
// calibrate it on.
func load() (*provemodel.Model, []provemodel.Input) {
	m, err := provemodel.Open("testdata/digits/digits.onnx", nil)
	if err != nil {
		log.Fatal(err)
	}
	return m, images(m, "testdata/digits/calibration.json")
}

func images(m *provemodel.Model, path string) []provemodel.Input {
	arrays, err := provemodel.ReadArrays(path)
	if err != nil {
		log.Fatal(err)
	}
	samples, err := m.Samples(arrays)
	if err != nil {
		log.Fatal(err)
	}
	return samples
}

// digit is the class of the largest output.
func digit(logits provemodel.Tensor) int {
	return slices.Index(logits.Values, slices.Max(logits.Values))
}

// The whole way, from a model file to a verdict.
func Example() {
	ctx := context.Background()

	// The prover.
	m, err := provemodel.Open("testdata/digits/digits.onnx", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	circuit, err := provemodel.Quantise(ctx, m, images(m, "testdata/digits/calibration.json"), nil)
	if err != nil {
		log.Fatal(err)
	}
	committed, err := provemodel.Commit(ctx, circuit, nil)
	if err != nil {
		log.Fatal(err)
	}
	proof, err := provemodel.Prove(ctx, committed, images(m, "testdata/digits/input.json")[0], nil)
	if err != nil {
		log.Fatal(err)
	}
	vk, file := committed.KeyFile(), proof.File

	// The verifier, who has these two alone.
	key, err := provemodel.ReadKey(bytes.NewReader(vk))
	if err != nil {
		log.Fatal(err)
	}
	statement, err := provemodel.Verify(key, bytes.NewReader(file), nil)
	if err != nil {
		log.Fatal("not valid: ", err)
	}
	out := statement.Outputs[0]
	fmt.Printf("%s %v says that the digit is a %d\n", out.Name, out.Shape, digit(out))
	fmt.Println("at least 100 bits:", statement.Strength.Total.Whole() >= 100)
	// Output:
	// logits [1 10] says that the digit is a 0
	// at least 100 bits: true
}

// A model is committed to once. Its key verifies the proofs of all its runs.
func ExampleProve() {
	ctx := context.Background()
	m, samples := load()
	defer m.Close()
	circuit, err := provemodel.Quantise(ctx, m, samples, nil)
	if err != nil {
		log.Fatal(err)
	}
	committed, err := provemodel.Commit(ctx, circuit, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, image := range samples[:3] {
		proof, err := provemodel.Prove(ctx, committed, image, nil)
		if err != nil {
			log.Fatal(err)
		}
		statement, err := provemodel.Verify(committed.Key(), bytes.NewReader(proof.File), nil)
		fmt.Println(digit(statement.Outputs[0]), err)
	}
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 6 <nil>
}

// Whoever knows a model's commitment can take the key from anyone, the prover
// included.
func ExampleVerify() {
	ctx := context.Background()
	m, samples := load()
	defer m.Close()
	prove := func(precision *provemodel.QuantiseOptions, security *provemodel.CommitOptions) (*provemodel.Committed, []byte) {
		circuit, err := provemodel.Quantise(ctx, m, samples, precision)
		if err != nil {
			log.Fatal(err)
		}
		committed, err := provemodel.Commit(ctx, circuit, security)
		if err != nil {
			log.Fatal(err)
		}
		proof, err := provemodel.Prove(ctx, committed, samples[0], nil)
		if err != nil {
			log.Fatal(err)
		}
		return committed, proof.File
	}
	honest, file := prove(nil, nil)
	published := honest.Commitment().String() // by the model's owner

	pinned, err := provemodel.ParseCommitment(published)
	if err != nil {
		log.Fatal(err)
	}
	_, err = provemodel.Verify(honest.Key(), bytes.NewReader(file), &provemodel.VerifyOptions{ExpectCommitment: &pinned})
	fmt.Println("the owner's key:", err)

	// Another precision makes another model of the same file.
	other, file := prove(&provemodel.QuantiseOptions{Mode: "w8a8"}, nil)
	_, err = provemodel.Verify(other.Key(), bytes.NewReader(file), &provemodel.VerifyOptions{ExpectCommitment: &pinned})
	fmt.Println("another key:", errors.Is(err, provemodel.ErrInvalid), errors.Is(err, provemodel.ErrOtherModel))

	// Less security than 100 bits takes the verifier's consent.
	weak, file := prove(nil, &provemodel.CommitOptions{SecurityBits: 60})
	_, err = provemodel.Verify(weak.Key(), bytes.NewReader(file), nil)
	var why *provemodel.WeakError
	fmt.Println("a weak key:", errors.As(err, &why))
	_, err = provemodel.Verify(weak.Key(), bytes.NewReader(file), &provemodel.VerifyOptions{MinBits: 60})
	fmt.Println("with consent:", err)
	// Output:
	// the owner's key: <nil>
	// another key: true true
	// a weak key: true
	// with consent: <nil>
}

// How far a circuit is from its float model is measured by running both.
func ExampleCompare() {
	ctx := context.Background()
	m, samples := load()
	defer m.Close()
	circuit, err := provemodel.Quantise(ctx, m, samples, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range circuit.Report().Steps {
		if step.Bits < 8 {
			fmt.Printf("%s has %d bits only\n", step.Node, step.Bits)
		}
	}
	worst, agree := 0.0, 0
	test := images(m, "testdata/digits/test.json")[:50]
	for _, image := range test {
		float, err := m.Run(ctx, image)
		if err != nil {
			log.Fatal(err)
		}
		run, err := circuit.Run(ctx, image)
		if err != nil {
			log.Fatal(err)
		}
		accuracy, err := provemodel.Compare(run.Outputs[0], float[0])
		if err != nil {
			log.Fatal(err)
		}
		worst = max(worst, accuracy.RangeError)
		if digit(run.Outputs[0]) == digit(float[0]) {
			agree++
		}
	}
	fmt.Printf("of %d images the two agree on %d; every error is below 1 %% of the range: %t\n", len(test), agree, worst < 0.01)
	// Output:
	// of 50 images the two agree on 50; every error is below 1 % of the range: true
}

// printer is an observer that prints the phases.
type printer struct{}

func (printer) Begin(p provemodel.Phase) { fmt.Print(p) }
func (printer) Progress(done, total int) {}
func (printer) End(err error)            { fmt.Println(": done") }
func (printer) Warn(message string)      { fmt.Println("warning:", message) }

func ExampleObserver() {
	ctx := context.Background()
	m, samples := load()
	defer m.Close()
	var observer printer
	circuit, err := provemodel.Quantise(ctx, m, samples, &provemodel.QuantiseOptions{Observer: observer})
	if err != nil {
		log.Fatal(err)
	}
	committed, err := provemodel.Commit(ctx, circuit, &provemodel.CommitOptions{Observer: observer})
	if err != nil {
		log.Fatal(err)
	}
	if _, err = provemodel.Prove(ctx, committed, samples[0], &provemodel.ProveOptions{Observer: observer}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// hash model: done
	// calibrate: done
	// quantise: done
	// commit model: done
	// run model: done
	// commit witness: done
	// prove: done
	// open: done
	// self-check: done
}

// A language model goes on after a prompt, and a verifier is shown that it did.
func ExampleCircuit_Generate() {
	ctx := context.Background()
	prompt := []int{1, 5, 9} // with a tokenizer, of package hf/tokenizer, those of a text
	m, err := provemodel.Open("hf/testdata/llama", &provemodel.OpenOptions{Tokens: 32, MaxTokens: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	sample, err := m.TextInput(prompt, []int{7, 33, 2, 18}) // any text, for the ranges
	if err != nil {
		log.Fatal(err)
	}
	circuit, err := provemodel.Quantise(ctx, m, []provemodel.Input{sample}, &provemodel.QuantiseOptions{Mode: "exact"})
	if err != nil {
		log.Fatal(err)
	}
	committed, err := provemodel.Commit(ctx, circuit, nil)
	if err != nil {
		log.Fatal(err)
	}
	generated, input, err := circuit.Generate(ctx, prompt, &provemodel.GenerateOptions{Each: func(token int) { fmt.Print(token, " ") }})
	if err != nil {
		log.Fatal(err)
	}
	proof, err := provemodel.Prove(ctx, committed, input, nil)
	if err != nil {
		log.Fatal(err)
	}

	statement, err := provemodel.Verify(committed.Key(), bytes.NewReader(proof.File), nil)
	if err != nil {
		log.Fatal("not valid: ", err)
	}
	text := statement.Generated
	fmt.Printf("after %v: %t, ended: %t\n", text.Prompt, slices.Equal(text.Tokens, generated.Tokens), text.Ended)
	// Output:
	// 27 27 18 40 after [1 5 9]: true, ended: false
}
