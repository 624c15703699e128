package provemodel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	stdflag "flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prove-model/prove-model/kernels/devicetest"
	"github.com/prove-model/prove-model/prover/chain"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/machine/cpu"
	"github.com/prove-model/prove-model/prover/machine/cuda/device"
	"github.com/prove-model/prove-model/prover/machine/cuda/run"
	"github.com/prove-model/prove-model/prover/math/hash"
	"github.com/prove-model/prove-model/prover/math/ints"
	"github.com/prove-model/prove-model/prover/proof"
	"github.com/prove-model/prove-model/prover/protocol/backend"
	"github.com/prove-model/prove-model/prover/protocol/whir"
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
		if testing.Short() && i%5 != 0 || !*full && i%6 != 0 {
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

// part is a segment of a text that is to be proved, and what its prover does that it should not.
type part struct {
	tokens, logits int
	follows        bool
	// alter, if not nil, may change what the circuit imports, the values of its own keys and values, and what the header says of those before.
	alter func(imported [][]int32, own [][]int32, next *prover.Segment)
	// lies has the trees of segments before commit to what they should, whatever the circuit imports.
	lies bool
}

// liar commits to imported tensors as another witness has them.
type liar struct {
	backend.Backend
	g      *model.Graph
	honest backend.Backend
}

func (l liar) Commit(ctx context.Context, c backend.Commitment) (*whir.Tree, error) {
	if slices.Contains(l.g.Unmade(), c.Parts[0].Stack.Tensors[0]) {
		return l.honest.Commit(ctx, c)
	}
	return l.Backend.Commit(ctx, c)
}

// chainOf proves the segments of a text, and returns the files.
func chainOf(t *testing.T, c *Committed, ids []int32, parts ...part) ([][]byte, error) {
	t.Helper()
	var files [][]byte
	var past []model.Past
	var kept [][]int32
	next := &prover.Segment{}
	for at, i := 0, 0; i < len(parts); i++ {
		p := parts[i]
		in := model.Instance{Sizes: []int{p.tokens, p.logits}, Segment: &model.Segment{Past: slices.Clone(past)}}
		q, err := c.circuit.quantised.At(in)
		if err != nil {
			t.Fatal(err)
		}
		places := make([]int32, p.logits)
		for i := range places {
			places[i] = int32(p.tokens - p.logits + i)
		}
		imported := make([][]int32, len(kept))
		for i := range kept {
			imported[i] = slices.Clone(kept[i])
		}
		next.Follows = p.follows
		if p.alter != nil {
			p.alter(imported, nil, next)
		}
		w, err := forward.Run(t.Context(), q.Graph, q.Weights, slices.Concat([][]int32{ids[at:][:p.tokens], places}, imported))
		if err != nil {
			t.Fatal(err)
		}
		var own [][]int32
		for _, id := range q.Graph.Apart[q.Graph.OwnTree()].Tensors {
			own = append(own, w.Tensor(id))
		}
		if p.alter != nil {
			p.alter(nil, own, next)
		}
		var file bytes.Buffer
		opts := prover.Options{Segment: next}
		if p.lies {
			right := ownValues{of: map[model.TensorID][]int32{}}
			for i, id := range q.Graph.Unmade() {
				right.of[id] = kept[i]
			}
			opts.Backend = func(g *model.Graph, w backend.Witness) backend.Backend {
				return liar{cpu.New(g, w), g, cpu.New(g, right)}
			}
		}
		stats, err := prover.Prove(t.Context(), c.key, in, c.trees, w, &file, opts)
		if err != nil {
			return nil, err
		}
		files = append(files, file.Bytes())
		next = &prover.Segment{Segment: proof.Segment{Predecessor: stats.Statement}, Past: stats.Trees}
		kept, past, at = append(kept, own...), append(past, model.Past{Tokens: p.tokens, RowVars: stats.Trees[i].RowVars}), at+p.tokens
	}
	return files, nil
}

func verifyChain(c *Committed, files ...[]byte) (*verifier.Chain, error) {
	var readers []io.Reader
	for _, f := range files {
		readers = append(readers, bytes.NewReader(f))
	}
	return verifier.Policy{}.Chain(c.key, nil, nil, readers...)
}

// patched replaces bytes of a proof and puts its checksum right.
func patched(t *testing.T, file, old, by []byte) []byte {
	t.Helper()
	if len(old) != len(by) || !bytes.Contains(file, old) {
		t.Fatal("nothing to replace")
	}
	out := bytes.Replace(file, old, by, 1)
	body := out[:len(out)-sha256.Size-3] // the end frame: its length, a tag, a length, the checksum
	sum := sha256.Sum256(body)
	copy(out[len(out)-sha256.Size:], sum[:])
	return out
}

func rootBytes(root hash.Digest) []byte {
	var b []byte
	for _, w := range root {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// A chain of segments is valid as a whole, and from a statement on that somebody vouches for; a segment alone is not. Whoever leaves one out, exchanges
// two, takes one of another text, place or key, names other keys and values, or goes on with another token is refused.
func TestChain(t *testing.T) {
	_, c := writingAs(t, &OpenOptions{Tokens: 16, MaxTokens: 2})
	ids := []int32{1, 5, 9}
	w, _, err := c.circuit.Generate(t.Context(), []int{1, 5, 9}, &GenerateOptions{MaxTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range w.Tokens {
		ids = append(ids, int32(id))
	}
	ids = append(ids, 2, 4) // somebody goes on
	honest := []part{{tokens: 5, logits: 3}, {tokens: 3, logits: 3, follows: true}, {tokens: 2, logits: 1}}
	prove := func(ids []int32, parts ...part) [][]byte {
		t.Helper()
		files, err := chainOf(t, c, ids, parts...)
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	files := prove(ids, honest...)
	chain, err := verifyChain(c, files...)
	if err != nil {
		t.Fatal(err)
	}
	var text []int
	for i, s := range chain.Segments {
		if s.Segment.First != []int{0, 5, 8}[i] {
			t.Errorf("segment %d begins at %d", i, s.Segment.First)
		}
		text = append(append(text, s.Written.Prompt...), s.Written.Tokens...)
	}
	if !slices.Equal(text, tokensOf(ids)) || len(chain.Segments[0].Written.Prompt) != 3 || len(chain.Segments[1].Written.Prompt) != 0 || len(chain.Segments[2].Written.Prompt) != 2 {
		t.Errorf("it states %v", text)
	}

	// Alone.
	for i, f := range files {
		_, err := verifier.Verify(c.key, bytes.NewReader(f))
		if i == 0 && err != nil || i > 0 && !errors.Is(err, verifier.ErrConditional) {
			t.Errorf("segment %d alone: %v", i, err)
		}
	}

	chainFiles(t, c.key, files)

	// From a statement on.
	pin := chain.Segments[0].Segment.Statement
	rest := func(pin [sha256.Size]byte, pinned []byte, files ...[]byte) error {
		var readers []io.Reader
		for _, f := range files {
			readers = append(readers, bytes.NewReader(f))
		}
		_, err := verifier.Policy{}.Chain(c.key, &pin, bytes.NewReader(pinned), readers...)
		return err
	}
	if err := rest(pin, files[0], files[1], files[2]); err != nil {
		t.Error(err)
	}
	other := pin
	other[0]++
	for name, err := range map[string]error{
		"another statement":              rest(other, files[0], files[1], files[2]),
		"another segment's file":         rest(pin, files[1], files[2]),
		"one left out behind the pinned": rest(pin, files[0], files[2]),
		"a statement that is not hers":   rest(pin, patched(t, files[0], rootBytes(chain.Segments[0].Segment.Own().Root), make([]byte, 32)), files[1]),
	} {
		if !errors.Is(err, verifier.ErrInvalid) && !errors.Is(err, proof.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}

	longer := slices.Concat(ids[:5], ids[5:8], ids[8:], []int32{3, 3})
	_, wrongKey := writingAs(t, &OpenOptions{Tokens: 12, MaxTokens: 2})
	elsewhere, err := chainOf(t, wrongKey, ids, honest...)
	if err != nil {
		t.Fatal(err)
	}
	swapped := slices.Concat(ids[:3], []int32{7, 7, 7}, ids[3:])
	three := []part{{tokens: 3, logits: 1}, {tokens: 3, logits: 1}, {tokens: 2, logits: 1}}
	exchanged := slices.Clone(three)
	exchanged[2].alter = func(imported, _ [][]int32, next *prover.Segment) {
		if imported != nil { // the first two are as long as each other
			n := len(imported) / 2
			for i := range n {
				imported[i], imported[n+i] = imported[n+i], imported[i]
			}
			next.Past[0], next.Past[1] = next.Past[1], next.Past[0]
		}
	}
	namesAnother := slices.Clone(honest)
	namesAnother[2].alter = func(_, own [][]int32, next *prover.Segment) {
		if own == nil {
			next.Predecessor[3]++
		}
	}
	// Keys and values that nobody computed, under the root that they have.
	invented := slices.Clone(honest)
	invented[1].alter = func(imported, _ [][]int32, next *prover.Segment) {
		if imported != nil {
			imported[0][1]++
			next.Past[0].Root = committedTo(t, c, imported, 5)
		}
	}
	forged := prove(ids, invented[:2]...)
	lying := slices.Clone(honest[:2])
	lying[1].lies = true
	lying[1].alter = func(imported, _ [][]int32, _ *prover.Segment) {
		if imported != nil {
			imported[0][1]++
		}
	}
	seam := slices.Clone(ids)
	seam[5] = (seam[5] + 1) % 48
	otherText := slices.Clone(ids)
	otherText[0]++
	first := chain.Segments[0].Segment
	for name, list := range map[string][][]byte{
		"one left out":               {files[0], files[2]},
		"the first left out":         {files[1], files[2]},
		"two exchanged":              {files[0], files[2], files[1]},
		"one twice":                  {files[0], files[1], files[1]},
		"one of another text":        {files[0], prove(otherText, part{tokens: 5, logits: 1}, part{tokens: 3, logits: 1})[1]},
		"one of another place":       {files[0], files[1], prove(longer, part{tokens: 5, logits: 3}, part{tokens: 3, logits: 3, follows: true}, part{tokens: 2, logits: 1}, part{tokens: 2, logits: 1})[3]},
		"one of another key":         {files[0], elsewhere[1]},
		"segments before exchanged":  prove(swapped, exchanged...),
		"another predecessor":        prove(ids, namesAnother...),
		"other keys and values":      {files[0], forged[1]},
		"others than are opened":     prove(ids, lying...),
		"these under the right root": {files[0], patched(t, forged[1], rootBytes(treesOf(t, forged[1]).Past()[0].Root), rootBytes(first.Own().Root))},
	} {
		if _, err := verifyChain(c, list...); !errors.Is(err, verifier.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A first token that the segment before does not leave.
	at := prove(seam, part{tokens: 5, logits: 3}, part{tokens: 1, logits: 1, follows: true})
	if _, err := verifyChain(c, at...); !errors.Is(err, verifier.ErrOtherToken) || !errors.Is(err, verifier.ErrChain) {
		t.Error(err)
	}
	// Keys and values of its own that do not follow from its tokens.
	lies := part{tokens: 5, logits: 3, alter: func(_, own [][]int32, _ *prover.Segment) {
		if own != nil {
			own[0][2]++
		}
	}}
	if made, err := chainOf(t, c, ids, lies); err == nil {
		if _, err = verifyChain(c, made...); err == nil {
			t.Error("a segment commits to keys and values that it has not computed")
		}
	}
}

func tokensOf(ids []int32) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out
}

// treesOf is what a segment names, whatever it rests on.
func treesOf(t *testing.T, file []byte) *verifier.Segment {
	t.Helper()
	in, err := proof.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return &verifier.Segment{Trees: in.Header().Trees}
}

// ownValues are the values of a tree that a header names.
type ownValues struct {
	backend.Witness
	of map[model.TensorID][]int32
}

func (v ownValues) Tensor(id model.TensorID) []int32 { return v.of[id] }

// committedTo returns the root of these keys and values of a first segment.
func committedTo(t *testing.T, c *Committed, values [][]int32, tokens int) hash.Digest {
	t.Helper()
	p, err := c.key.Plan(model.Instance{Sizes: []int{tokens, 1}, Segment: &model.Segment{}})
	if err != nil {
		t.Fatal(err)
	}
	v := ownValues{of: map[model.TensorID][]int32{}}
	for i, id := range p.Graph.Apart[0].Tensors {
		v.of[id] = values[i]
	}
	tree, err := cpu.New(p.Graph, v).Commit(t.Context(), p.ApartTrees()[0].Commitment)
	if err != nil {
		t.Fatal(err)
	}
	return tree.Root()
}

var updateChain = stdflag.Bool("update-chain", false, "write testdata/chain, which every verifier reads, anew")

// chainFiles writes a chain for verifiers in other languages, or else verifies the one that is there.
func chainFiles(t *testing.T, key *proof.Key, files [][]byte) {
	t.Helper()
	name := func(i int) string { return filepath.Join("testdata", "chain", fmt.Sprintf("%d.proof", i+1)) }
	path := filepath.Join("testdata", "chain", "key.vk")
	if *updateChain {
		for i, f := range files {
			if err := os.WriteFile(name(i), f, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, key.Encoded(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if key, err = proof.DecodeKey(encoded); err != nil {
		t.Fatal(err)
	}
	var readers []io.Reader
	for i := range 3 {
		f, err := os.ReadFile(name(i))
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, bytes.NewReader(f))
	}
	if _, err := (verifier.Policy{}).Chain(key, nil, nil, readers...); err != nil {
		t.Errorf("testdata/chain: %v", err)
	}
}

// What a model writes is proved in segments, on a device as on the processor, and the chain goes on from its proofs. What does not follow, and what
// options of other proofs ask for, is refused.
func TestProveSegment(t *testing.T) {
	gpu := gpuFor(t, devicetest.Open(t), &recorder{t: t}, withThreshold(1<<10), withRequire())
	_, c := writingAs(t, &OpenOptions{Tokens: 16, MaxTokens: 2})
	prompt := []int{1, 5, 9}
	w, _, err := c.circuit.Generate(t.Context(), prompt, &GenerateOptions{MaxTokens: 6})
	if err != nil {
		t.Fatal(err)
	}
	text := slices.Concat(prompt, w.Tokens)
	for _, logits := range []bool{false, true} {
		ch, err := c.OpenChain(t.Context(), nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var files [][]byte
		readers := func() []io.Reader {
			var list []io.Reader
			for _, f := range files {
				list = append(list, bytes.NewReader(f))
			}
			return list
		}
		prove := func(tokens []int, given int, opts *ProveOptions) {
			t.Helper()
			p, err := c.ProveSegment(t.Context(), ch, tokens, given, opts)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, p.File)
		}
		prove(text[:5], 3, &ProveOptions{Logits: logits})
		prove(text[5:8], 0, &ProveOptions{Logits: logits})
		stored := [][]byte{ch.Stored(0), ch.Stored(1)}
		again, err := c.OpenChain(t.Context(), files, stored, &ProveOptions{Observer: &recorder{t: t}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(again.Tokens(), text[:8]) || !again.Follows(text[8]) || again.Follows(text[8]+1) || again.Segments() != 2 {
			t.Errorf("the chain has %v", again.Tokens())
		}
		before := ch
		ch = again
		var device *Device // of one of the two: the host takes long for its kernels
		if logits {
			device = gpu
		}
		prove(text[8:], 0, &ProveOptions{Logits: logits, Device: device})
		other, err := c.ProveSegment(t.Context(), before, text[8:], 0, &ProveOptions{Logits: logits})
		if err != nil || !bytes.Equal(other.File, files[2]) {
			t.Errorf("logits %v: on the processor the proof is another, %v", logits, err)
		}
		list, err := (*VerifyOptions)(nil).Chain(c.key, readers()...)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, s := range list {
			got = append(append(got, s.Generated.Prompt...), s.Generated.Tokens...)
			if logits != (len(s.Reveals) == 0) {
				t.Errorf("it reveals %v", s.Reveals)
			}
		}
		if !slices.Equal(got, text) {
			t.Errorf("the chain states %v", got)
		}
		from := Commitment(list[1].Segment.Statement)
		if rest, err := (&VerifyOptions{From: &from}).Chain(c.key, readers()[1:]...); err != nil || len(rest) != 1 || rest[0].Segment.First != 8 {
			t.Errorf("from the second segment: %v", err)
		}
		if _, err := Verify(c.key, bytes.NewReader(files[1]), nil); !errors.Is(err, verifier.ErrConditional) {
			t.Error(err)
		}
		for name, f := range map[string]func() error{
			"a token that does not follow": func() error {
				_, err := c.ProveSegment(t.Context(), before, []int{(before.Leaves() + 1) % 48}, 0, nil)
				return err
			},
			"a token within that does not follow": func() error {
				_, err := c.ProveSegment(t.Context(), before, []int{before.Leaves(), 0, 1, 2}, 0, nil)
				return err
			},
			"no token": func() error { _, err := c.ProveSegment(t.Context(), before, nil, 0, nil); return err },
			"hidden": func() error {
				_, err := c.ProveSegment(t.Context(), before, []int{1}, 1, &ProveOptions{HideOutputs: []string{""}})
				return err
			},
			"resumed": func() error {
				_, err := c.ProveSegment(t.Context(), before, []int{1}, 1, &ProveOptions{Resume: true, CacheDir: t.TempDir()})
				return err
			},
			"too long":                 func() error { _, err := c.ProveSegment(t.Context(), before, make([]int, 12), 12, nil); return err },
			"opened without the first": func() error { _, err := c.OpenChain(t.Context(), files[1:], nil, nil); return err },
			"opened with another's draw": func() error {
				_, err := c.OpenChain(t.Context(), files, nil, &ProveOptions{Sampling: &Sampling{Seed: 1, Temperature: 9, TopP: 1}})
				return err
			},
		} {
			if err := f(); err == nil {
				t.Errorf("%s: no error", name)
			} else if n := len(before.Tokens()); n != len(text) {
				t.Errorf("%s: the chain has %d tokens", name, n)
			}
		}
	}
}

// errAny stands for whatever error there is.
var errAny = errors.New("some error")

// Keys and values that are stored beside a chain are what would be computed again. Where they are missing, of another segment or chain, or
// damaged, they are computed again, and whoever opens the chain is told so. What somebody has put there, and is none of these, leads to no proof.
func TestStoredValues(t *testing.T) {
	_, c := writingAs(t, &OpenOptions{Tokens: 16, MaxTokens: 2})
	prove := func(text []int) (files, stored [][]byte) {
		t.Helper()
		ch, err := c.OpenChain(t.Context(), nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			p, err := c.ProveSegment(t.Context(), ch, text[4*i:][:4], 4, nil)
			if err != nil {
				t.Fatal(err)
			}
			files, stored = append(files, p.File), append(stored, ch.Stored(i))
		}
		return files, stored
	}
	files, stored := prove([]int{1, 5, 9, 2, 4, 7, 7, 3})
	_, others := prove([]int{1, 5, 9, 3, 4, 7, 7, 3})
	// Values that pass for stored ones, in the file of this segment.
	forged := func(file []byte, alter func(body []byte)) []byte {
		file = slices.Clone(file)
		body := file[:len(file)-sha256.Size]
		alter(body)
		sum := sha256.Sum256(body)
		copy(file[len(body):], sum[:])
		return file
	}
	head := len(chain.StoreMagic) + sha256.Size
	damaged := slices.Clone(stored[0])
	damaged[head+3]++
	honest, err := c.OpenChain(t.Context(), files, stored, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Values that no tensor has: the first is 2^30.
	outside := slices.Clone(stored[0][:head])
	for i, v := range honest.Begin(1).Values() {
		v = slices.Clone(v)
		if i == 0 {
			v[0] = 1 << 30
		}
		outside = append(append(outside, 4), ints.Bytes(ints.Int32s(v))...)
	}
	outside = forged(append(outside, make([]byte, sha256.Size)...), func([]byte) {})
	next := []int{6, 6}
	prompt := slices.Concat(honest.Tokens(), next)
	written, _, err := c.circuit.Generate(t.Context(), prompt, &GenerateOptions{MaxTokens: 4})
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.ProveSegment(t.Context(), honest.Begin(2), next, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		stored [][]byte
		again  int // segments that are computed again
		err    error
	}{
		"as they were":              {stored, 0, nil},
		"none":                      {nil, 2, nil},
		"one is missing":            {[][]byte{nil, stored[1]}, 1, nil},
		"damaged":                   {[][]byte{damaged, stored[1]}, 1, nil},
		"cut short":                 {[][]byte{stored[0], stored[1][:head]}, 1, nil},
		"without its last tensor":   {[][]byte{stored[0], forged(stored[1][:len(stored[1])-40], func([]byte) {})}, 1, nil},
		"with an unknown width":     {[][]byte{stored[0], forged(stored[1], func(b []byte) { b[head] = 3 })}, 1, nil},
		"exchanged":                 {[][]byte{stored[1], stored[0]}, 2, nil},
		"of another chain":          {others, 2, nil},
		"of another, as if of this": {[][]byte{stored[0], forged(others[1], func(b []byte) { copy(b, stored[1][:head]) })}, 0, prover.ErrOtherValues},
		"altered":                   {[][]byte{forged(stored[0], func(b []byte) { b[head+1] ^= 1 }), stored[1]}, 0, prover.ErrOtherValues},
		"outside of their range":    {[][]byte{outside, stored[1]}, 0, errAny},
	} {
		r := &recorder{t: t}
		ch, err := c.OpenChain(t.Context(), files, x.stored, &ProveOptions{Observer: r})
		if err != nil {
			t.Fatal(name, err)
		}
		if n := len(r.log); n != x.again {
			t.Errorf("%s: %d segments were computed again, not %d: %q", name, n, x.again, r.log)
		}
		// What the model writes then goes on from the stored values, and is the same; others do not make it fail.
		known, err := c.Begun(ch)
		if err != nil {
			t.Fatal(name, err)
		}
		if kept := known.text.kept != nil; kept == (name == "outside of their range") {
			t.Errorf("%s: the text goes on from what is stored: %v", name, kept)
		}
		on, _, err := c.circuit.Generate(t.Context(), prompt, &GenerateOptions{MaxTokens: 4, Prefix: known})
		if err != nil || x.err == nil && !slices.Equal(on.Tokens, written.Tokens) {
			t.Errorf("%s: the model writes %v, not %v, %v", name, on, written.Tokens, err)
		}
		p, err := c.ProveSegment(t.Context(), ch, next, 2, nil)
		if !errors.Is(err, x.err) && (x.err != errAny || err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && !bytes.Equal(p.File, want.File) {
			t.Errorf("%s: another proof", name)
		}
		if err != nil && ch.Segments() != 2 {
			t.Errorf("%s: a segment was added", name)
		}
	}
}

// The forward pass of a segment runs on devices, with what it imports uploaded there, whatever is kept: every value is the processor's.
func TestSegmentsOnDevice(t *testing.T) {
	d := devicetest.Open(t)
	_, c := writingAs(t, &OpenOptions{Tokens: 16, MaxTokens: 2})
	ch, err := c.OpenChain(t.Context(), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, ids := range [][]int{{1, 5, 9, 2}, {4}, {7, 7, 3}} {
		s, err := c.segment(ch, ids, 1)
		if err != nil {
			t.Fatal(err)
		}
		g, inputs := s.model.Graph, slices.Concat(s.ints, s.segment.imports)
		want, err := forward.Run(t.Context(), g, s.model.Weights, inputs)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []device.Mode{{}, {Keys: true, Rows: true, Values: true}} {
			on := []*device.Context{device.New(d), device.New(d)}
			if mode.Values {
				on = on[:1]
			}
			for _, x := range on {
				x.SetMode(mode)
			}
			f := &run.Forward{Host: 8}
			for chunk := range g.Chunks {
				f.Contexts = append(f.Contexts, on[chunk%len(on)])
			}
			got, err := forward.RunOn(t.Context(), f, g, s.model.Weights, inputs)
			if err != nil {
				t.Fatal(err)
			}
			if got.Kept() == nil {
				t.Fatalf("segment %d: the device did not run it", i)
			}
			for id := range g.Tensors {
				if g.Tensors[id].Kind == model.Witness && !slices.Equal(got.Tensor(model.TensorID(id)), want.Tensor(model.TensorID(id))) {
					t.Errorf("segment %d, %+v: other values of %q", i, mode, g.Tensors[id].Name)
				}
			}
			if err := got.Err(); err != nil {
				t.Error(err)
			}
			got.Close()
			for _, x := range on {
				x.Close()
			}
		}
		if _, err := c.ProveSegment(t.Context(), ch, ids, len(ids), nil); err != nil {
			t.Fatal(err)
		}
	}
}
