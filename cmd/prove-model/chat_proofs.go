package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/internal/atomicfile"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/prover/chain"
	"github.com/prove-model/prove-model/prover/circuit/model"
)

// proofs proves answers one after the other. It pauses while the model writes.
type proofs struct {
	circuit *provemodel.Circuit
	opts    *job.Options
	out     *chatPrinter
	todo    chan *answer
	undone  atomic.Int64

	mu        sync.Mutex
	writing   chan struct{} // not nil while the model writes; closed when it has written
	committed *provemodel.Committed

	chain    *chain.Chain // up to the last answer that was proved as a segment; nil before the first
	segments [][]byte     // proofs of the chain's segments
	chains   int          // number of chains so far
	refused  bool         // whether the reason why answers are not proved as segments was printed
}

// mostWaiting is how many answers may wait to be proved; add blocks if there are more.
const mostWaiting = 1 << 10

func newProofs(c *provemodel.Circuit, opts *job.Options, out *chatPrinter) *proofs {
	return &proofs{circuit: c, opts: opts, out: out, todo: make(chan *answer, mostWaiting)}
}

// start proves the answers that are added, until the context ends. It then closes the channel that it returns.
func (p *proofs) start(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case a := <-p.todo:
				start := time.Now()
				a.err = p.prove(ctx, a)
				p.undone.Add(-1)
				close(a.done)
				if ctx.Err() == nil {
					p.out.proved(a, time.Since(start))
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return over
}

// add queues an answer to be proved.
func (p *proofs) add(a *answer) {
	p.undone.Add(1)
	p.todo <- a
}

// waiting is the number of answers that are not proved yet.
func (p *proofs) waiting() int { return int(p.undone.Load()) }

// pause makes proofs stop at the end of their current part of the work, until resume is called.
func (p *proofs) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = make(chan struct{})
}

func (p *proofs) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.writing)
	p.writing = nil
}

// wait blocks while the model writes, unless the context ends.
func (p *proofs) wait(ctx context.Context) {
	p.mu.Lock()
	writing := p.writing
	p.mu.Unlock()
	if writing != nil {
		select {
		case <-writing:
		case <-ctx.Done():
		}
	}
}

// prove proves an answer: as a segment if that is possible, else with the whole conversation before it. The first call
// commits to the model.
func (p *proofs) prove(ctx context.Context, a *answer) (err error) {
	defer must.Catch(&err)
	observer := &patient{warner{p.out}, p, ctx}
	observer.wait(ctx)
	c := must.Get(p.key(ctx, observer))
	opts := p.opts.Prove
	opts.Observer, opts.Sampling = observer, a.Sampling
	segment := opts
	segment.Resume = false // it is for this conversation only, so no later run goes on with it
	if err = p.proveSegment(ctx, c, a, &segment); !errors.Is(err, model.ErrSegment) {
		return err
	}
	if !p.refused {
		p.refused = true
		p.out.say("answers are proved with all of the conversation before them: %v", err)
	}
	made := must.Get(provemodel.Prove(ctx, c, a.in, &opts))
	a.files = [][]byte{made.File}
	return nil
}

// proveSegment proves the turn of an answer as a segment that follows those before it. The conversation may not begin with the tokens of
// all these segments: it was cleared, or the template or the tokenizer writes an answer in other tokens than the model did. Then it
// begins another chain, with the segments that the conversation does begin with.
func (p *proofs) proveSegment(ctx context.Context, c *provemodel.Committed, a *answer, opts *provemodel.ProveOptions) (err error) {
	defer must.Catch(&err)
	on, extends := p.chain, false
	if on == nil {
		on = must.Get(c.OpenChain(ctx, nil, nil, opts))
	} else {
		// One token of the prompt at least is left for the segment.
		n := on.Shared(a.PromptTokens[:len(a.PromptTokens)-1])
		if n > model.MaxPast {
			n = 0
		}
		extends = n == on.Segments()
		on = on.Begin(n)
	}
	n, before := on.Segments(), len(on.Tokens())
	text := slices.Concat(a.PromptTokens, a.Tokens)[before:]
	made := must.Get(c.ProveSegment(ctx, on, text, len(a.PromptTokens)-before, opts))
	if !extends {
		p.chains++
	}
	p.chain, p.segments = on, append(p.segments[:n:n], made.File)
	a.chain, a.files = p.chains, p.segments
	return nil
}

// key returns the committed model. The first call commits to it.
func (p *proofs) key(ctx context.Context, observer provemodel.Observer) (_ *provemodel.Committed, err error) {
	defer must.Catch(&err)
	if p.committed != nil {
		return p.committed, nil
	}
	opts := p.opts.Commit
	opts.Observer = observer
	c := must.Get(provemodel.Commit(ctx, p.circuit, &opts))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.committed = c
	return c, nil
}

// patient is the observer of proofs: its calls block, and so hold up the proof, while the model writes.
type patient struct {
	warner
	*proofs
	ctx context.Context
}

func (p *patient) Begin(provemodel.Phase) { p.wait(p.ctx) }
func (p *patient) Progress(int, int)      { p.wait(p.ctx) }

// proved waits until the given answers are proved.
func (c *conversation) proved(ctx context.Context, answers []*answer) error {
	return c.interruptible(ctx, always, func(ctx context.Context, _ *atomic.Bool) error {
		for _, a := range answers {
			select {
			case <-a.done:
				continue
			default:
				c.out.say("waiting for the proof of answer %d …", a.Number)
			}
			select {
			case <-a.done:
			case <-ctx.Done():
				return errors.New("interrupted: the proof is still being made")
			}
		}
		return nil
	})
}

// verify verifies the proofs of the answers that `which` names: "" the last one, a number, or "all".
func (c *conversation) verify(ctx context.Context, which string) (err error) {
	defer must.Catch(&err)
	list := must.Get(c.named(which))
	must.OK(c.proved(ctx, list))
	for _, a := range list {
		if a.err != nil {
			return fmt.Errorf("answer %d could not be proved: %w", a.Number, a.err)
		}
		sentence, err := verifiedAnswer(c.proofs.committed.KeyFile(), a)
		c.out.verified(a, sentence, err)
		if err != nil {
			c.verdict = err
		}
	}
	return nil
}

// named returns the answers that an argument of /verify names.
func (c *conversation) named(which string) ([]*answer, error) {
	n := len(c.answers)
	switch {
	case n == 0:
		return nil, errors.New("there is no answer yet")
	case which == "all":
		return c.answers, nil
	case which == "":
		return c.answers[n-1:], nil
	}
	i, err := strconv.Atoi(which)
	if err != nil || i < 1 || i > n {
		return nil, fmt.Errorf("/verify %s: want the number of an answer, 1 to %d, or all", which, n)
	}
	return c.answers[i-1 : i], nil
}

// verifiedAnswer verifies the proof of an answer, and those of the segments before it, as anybody with the key's file could. It returns a
// sentence that says what the proof shows.
func verifiedAnswer(keyFile []byte, a *answer) (string, error) {
	s, text, err := statedBy(keyFile, a)
	if err != nil {
		return "", err
	}
	if w := s.Generated; w == nil || !slices.Equal(text, slices.Concat(a.PromptTokens, a.Tokens)) || !slices.Equal(w.Tokens, a.Tokens) || verdict(w.Ended) != a.Verdict {
		return "", fmt.Errorf("%w: it is about another text", provemodel.ErrInvalid)
	}
	how := "each token has the greatest logit"
	if a.Sampling != nil {
		how = "each token is what " + flags(a.Sampling) + " draws from the proved logits"
	}
	parts := ""
	if len(a.files) > 1 {
		parts = fmt.Sprintf("%d segments, ", len(a.files))
	}
	return fmt.Sprintf("VALID: answer %d is what the model with commitment %s wrote after the %d tokens of the conversation up to there: %s, and %s (%ssecurity %s)",
		a.Number, s.Commitment, len(a.PromptTokens), said(len(a.Tokens), a.Verdict), how, parts, s.Strength), nil
}

// statedBy verifies the proof of an answer, and those of the segments before it. It returns the statement of the answer's proof, with
// the strength of the weakest of the proofs, and the tokens of the whole text.
func statedBy(keyFile []byte, a *answer) (*provemodel.Statement, []int, error) {
	opts := &provemodel.VerifyOptions{Sampling: a.Sampling, FirstValues: 1}
	var list []*provemodel.Statement
	key, err := provemodel.ReadKey(bytes.NewReader(keyFile))
	switch {
	case err != nil:
	case a.chain > 0:
		list, err = opts.Chain(key, readersOf(a.files)...)
	default:
		list = make([]*provemodel.Statement, 1)
		list[0], err = provemodel.Verify(key, bytes.NewReader(a.proof()), opts)
	}
	if err != nil {
		return nil, nil, err
	}
	last := list[len(list)-1]
	var text []int
	for _, s := range list {
		if s.Generated != nil {
			text = append(append(text, s.Generated.Prompt...), s.Generated.Tokens...)
		}
		if s.Strength.Total < last.Strength.Total {
			last.Strength = s.Strength
		}
	}
	return last, text, nil
}

// transcript is the content of transcript.json.
type transcript struct {
	Model      string    `json:"model"`
	Commitment string    `json:"model_commitment"`
	Key        string    `json:"vk"`
	Answers    []*answer `json:"answers"`
}

// save writes the key, the proofs and the transcript into a folder.
func (c *conversation) save(ctx context.Context, folder string) (err error) {
	defer must.Catch(&err)
	if folder == "" {
		return errors.New("/save FOLDER: which one?")
	}
	if len(c.answers) == 0 {
		return errors.New("there is no answer yet")
	}
	if list, err := os.ReadDir(folder); err == nil && len(list) > 0 && !c.saved[folder] {
		return fmt.Errorf("/save %s: it has files already; name a new folder", folder)
	}
	must.OK(c.proved(ctx, c.answers))
	for _, a := range c.answers {
		if a.err != nil {
			return fmt.Errorf("answer %d could not be proved: %w", a.Number, a.err)
		}
	}
	must.OKAs(os.MkdirAll(folder, 0o755), "/save")
	key := c.proofs.committed
	t := &transcript{Model: c.job.Model.Name(), Commitment: key.Commitment().String(), Key: "key.vk", Answers: c.answers}
	must.OK(writeFile(folder, t.Key, key.KeyFile()))
	chains := must.Get(c.saveProofs(folder))
	text := must.Get(json.MarshalIndent(t, "", "  "))
	must.OK(writeFile(folder, "transcript.json", append(text, '\n')))
	if c.saved == nil {
		c.saved = map[string]bool{}
	}
	c.saved[folder] = true
	c.out.savedIn(folder, len(c.answers), chains, t.Commitment)
	return nil
}

// saveProofs writes the proofs of all answers. It returns the folders of the chains: that of the first chain is the given folder, those
// of others are within it. Each has the key.
func (c *conversation) saveProofs(folder string) (chains []string, err error) {
	defer must.Catch(&err)
	known := map[string]int{} // number of segments that were written, by folder
	for _, a := range c.answers {
		if a.chain == 0 {
			a.Proof = fmt.Sprintf("answer-%d.proof", a.Number)
			must.OK(writeFile(folder, a.Proof, a.proof()))
			continue
		}
		if a.Chain = "."; a.chain > 1 {
			a.Chain = fmt.Sprintf("chain-%d", a.chain)
		}
		in := filepath.Join(folder, a.Chain)
		if known[in] == 0 {
			chains = append(chains, in)
			must.OKAs(os.MkdirAll(in, 0o755), "/save")
			must.OK(writeFile(in, "key.vk", c.proofs.committed.KeyFile()))
		}
		for i := known[in]; i < len(a.files); i++ {
			must.OK(writeFile(in, filepath.Base(segmentFile(in, i+1)), a.files[i]))
		}
		known[in], a.Segments = len(a.files), len(a.files)
		a.Proof = filepath.ToSlash(segmentFile(a.Chain, a.Segments))
	}
	return chains, nil
}

// writeFile writes a file of /save.
func writeFile(folder, name string, data []byte) (err error) {
	defer must.Catch(&err)
	must.OKAs(atomicfile.WriteFile(filepath.Join(folder, name), data), "/save")
	return nil
}
