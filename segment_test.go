package provemodel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// segmented runs the circuits of a text's segments of these lengths, each with the values that those before it leave it, and returns
// the logits at all positions.
func segmented(t *testing.T, c *Circuit, ids []int32, lengths []int) ([]int32, error) {
	t.Helper()
	var past []model.Past
	var kept [][][]int32 // by segment
	var logits []int32
	at := 0
	for _, n := range lengths {
		q, err := c.quantised.At(model.Instance{Sizes: []int{n, n}, Segment: &model.Segment{Past: slices.Clone(past)}})
		if err != nil {
			return nil, err
		}
		places := make([]int32, n)
		for i := range places {
			places[i] = int32(i)
		}
		inputs := [][]int32{ids[at:][:n], places}
		for _, k := range kept {
			inputs = append(inputs, k...)
		}
		w, err := forward.Run(t.Context(), q.Graph, q.Weights, inputs)
		if err != nil {
			t.Fatal(err)
		}
		logits = append(logits, w.Tensor(q.Graph.Outputs[0])...)
		var own [][]int32
		for _, id := range q.Graph.Apart[q.Graph.OwnTree()].Tensors {
			own = append(own, w.Tensor(id))
		}
		kept, past, at = append(kept, own), append(past, model.Past{Tokens: n, RowVars: 4}), at+n
	}
	return logits, nil
}

// The segments of a text have the integers of one pass over all of it, at every position, whatever their lengths. A model in which a
// token reads others in another way than by keys and values of their positions is refused.
func TestSegmentsLikeRun(t *testing.T) {
	refused := 0
	for i, dir := range decoders(t) {
		if testing.Short() && i%5 != 0 {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			start, n := prompt(t, dir), 4
			path := dir
			if file := filepath.Join(dir, "model.gguf"); exists(file) {
				path = file
			}
			m, err := Open(path, &OpenOptions{Tokens: 16, MaxTokens: n})
			if err != nil || m.Start() != nil || !m.open.isText() {
				t.Skip("texts of one length, or of an encoder–decoder", err)
			}
			defer m.Close()
			ids := []int{1, 2, 3, 4, 5, 6, 7, 3, 9}
			copy(ids, start)
			sample, err := m.TextInput(ids[:5], ids[5:9])
			if err != nil {
				t.Fatal(err)
			}
			c, err := Quantise(t.Context(), m, []Input{sample}, quantiseWith(withMode("exact")))
			if err != nil {
				t.Fatal(err)
			}
			tokens, places := make([]int32, len(ids)), make([]int32, len(ids))
			for i := range ids {
				tokens[i], places[i] = int32(ids[i]), int32(i)
			}
			q, err := c.quantised.At(model.Instance{Sizes: []int{len(ids), len(ids)}})
			if err != nil {
				t.Fatal(err)
			}
			w, err := forward.Run(t.Context(), q.Graph, q.Weights, [][]int32{tokens, places})
			if err != nil {
				t.Fatal(err)
			}
			want := w.Tensor(q.Graph.Outputs[0])
			for _, lengths := range [][]int{{9}, {4, 5}, {1, 1, 5, 2}} {
				got, err := segmented(t, c, tokens, lengths)
				if errors.Is(err, model.ErrSegment) {
					refused++
					t.Log("refused:", err)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) {
					t.Errorf("segments of %v tokens have other logits", lengths)
				}
			}
		})
	}
	t.Log(refused, "refused")
}

// chainOf proves the segments of a text, and returns the files.
func chainOf(t *testing.T, c *Committed, ids []int32, parts []part, reveal bool) [][]byte {
	t.Helper()
	var files [][]byte
	var past []model.Past
	var kept [][][]int32
	next := &prover.Segment{}
	at := 0
	for i, p := range parts {
		in := model.Instance{Sizes: []int{p.tokens, p.logits}, Segment: &model.Segment{Past: slices.Clone(past)}}
		q, err := c.circuit.quantised.At(in)
		if err != nil {
			t.Fatal(err)
		}
		places := make([]int32, p.logits)
		for i := range places {
			places[i] = int32(p.tokens - p.logits + i)
		}
		inputs := [][]int32{ids[at:][:p.tokens], places}
		for _, k := range kept {
			inputs = append(inputs, k...)
		}
		w, err := forward.Run(t.Context(), q.Graph, q.Weights, inputs)
		if err != nil {
			t.Fatal(err)
		}
		var own [][]int32
		for _, id := range q.Graph.Apart[q.Graph.OwnTree()].Tensors {
			own = append(own, w.Tensor(id))
		}
		next.Follows = p.follows
		var file bytes.Buffer
		stats, err := prover.Prove(t.Context(), c.key, in, c.trees, w, &file, prover.Options{Segment: next})
		if err != nil {
			t.Fatal(i, err)
		}
		files = append(files, file.Bytes())
		next = &prover.Segment{Segment: proof.Segment{Predecessor: stats.Statement}, Past: stats.Trees}
		kept, past, at = append(kept, own), append(past, model.Past{Tokens: p.tokens, RowVars: stats.Trees[i].RowVars}), at+p.tokens
	}
	return files
}

type part struct {
	tokens, logits int
	follows        bool
}

func TestChainScratch(t *testing.T) {
	_, c := writingAs(t, &OpenOptions{Tokens: 16, MaxTokens: 2})
	files := chainOf(t, c, []int32{1, 5, 9, 7, 7, 3}, []part{{3, 1, false}, {1, 1, false}, {2, 1, false}}, false)
	var rs []io.Reader
	os.WriteFile("/tmp/chain/k.vk", c.key.Encoded(), 0o644)
	for i, f := range files {
		os.WriteFile(fmt.Sprintf("/tmp/chain/%d.proof", i+1), f, 0o644)
		rs = append(rs, bytes.NewReader(f))
	}
	chain, err := verifier.Policy{}.Chain(c.key, nil, nil, rs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range chain.Segments {
		t.Logf("%+v %+v", s.Segment, s.Written)
	}
	_, err = verifier.Verify(c.key, bytes.NewReader(files[0]))
	t.Log(err)
	_, err = verifier.Verify(c.key, bytes.NewReader(files[1]))
	t.Log(err)
}
