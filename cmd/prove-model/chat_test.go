package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/job"
)

// A proof goes on when the model has written, and not before, unless all is over.
func TestProofsWait(t *testing.T) {
	p := newProofs(nil, nil, nil)
	observer := &patient{proofs: p, ctx: t.Context()}
	observer.Progress(1, 2) // nothing is written
	p.pause()
	went := make(chan struct{})
	go func() {
		observer.Begin("prove")
		close(went)
	}()
	select {
	case <-went:
		t.Error("a proof goes on while the model writes")
	case <-time.After(20 * time.Millisecond):
	}
	p.resume()
	<-went
	p.pause()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	(&patient{proofs: p, ctx: over}).Progress(1, 2)
}

// An interrupt ends what has not begun, and asks what has to stop where it is; a request to terminate ends both.
func TestInterruptedTurn(t *testing.T) {
	for name, x := range map[string]struct {
		signal   os.Signal
		begun    bool
		canceled bool
		err      error
	}{
		"before the first token": {os.Interrupt, false, true, context.Canceled},
		"while it writes":        {os.Interrupt, true, false, nil},
		"terminated":             {syscall.SIGTERM, true, true, errTerminated},
		"left alone":             {nil, true, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			signals := make(chan os.Signal, 1)
			c := &conversation{signals: signals}
			err := c.interruptible(t.Context(), func() bool { return !x.begun }, func(ctx context.Context, asked *atomic.Bool) error {
				if x.signal == nil {
					return ctx.Err()
				}
				signals <- x.signal
				for until := time.Now().Add(10 * time.Second); !asked.Load() || x.canceled && ctx.Err() == nil; {
					if time.Now().After(until) {
						t.Fatal("nobody has said so")
					}
					time.Sleep(time.Millisecond)
				}
				return ctx.Err()
			})
			if !errors.Is(err, x.err) || x.err == nil && err != nil {
				t.Errorf("%v, want %v", err, x.err)
			}
		})
	}
}

// answersOf opens a small language model, and returns what proves its answers and a function that has it write one.
func answersOf(t *testing.T, hide string) (p *proofs, said *bytes.Buffer, write func(prompt ...int) *answer) {
	t.Helper()
	m, err := provemodel.Open("../../hf/testdata/llama", &provemodel.OpenOptions{Tokens: 24, MaxTokens: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	sample, err := m.TextInput([]int{1, 5, 9}, []int{7})
	if err != nil {
		t.Fatal(err)
	}
	c, err := provemodel.Quantise(t.Context(), m, []provemodel.Input{sample}, &provemodel.QuantiseOptions{Mode: "w8a8", Hide: hide != ""})
	if err != nil {
		t.Fatal(err)
	}
	opts := &job.Options{}
	if hide != "" {
		opts.Commit = provemodel.CommitOptions{Hide: hide, Proofs: 2, SecretFile: filepath.Join(t.TempDir(), "secret")}
	}
	said = &bytes.Buffer{}
	p = newProofs(c, opts, &chatPrinter{out: said, err: said})
	n := 0
	return p, said, func(prompt ...int) *answer {
		t.Helper()
		w, in, err := c.Generate(t.Context(), prompt, &provemodel.GenerateOptions{MaxTokens: 2})
		if err != nil {
			t.Fatal(err)
		}
		n++
		return &answer{Number: n, PromptTokens: w.Prompt, Tokens: w.Tokens, Verdict: verdict(w.Ended), in: in}
	}
}

// Answers are segments of a chain as long as the conversation begins with what was said before, token by token; where it does not, the chain
// forks, or another begins. Each is verified by the chain up to it, and no other chain or text will do.
func TestAnswersInChains(t *testing.T) {
	p, said, write := answersOf(t, "")
	behind := func(a *answer, more ...int) []int { return slices.Concat(a.PromptTokens, a.Tokens, more) }
	first := write(1, 5, 9)
	list := []*answer{first, write(behind(first, 2)...), write(behind(first, 4)...), write(3)}
	list = append(list, write(behind(list[3], 6, 6)...))
	for i, want := range []struct{ chain, segments int }{{1, 1}, {1, 2}, {2, 2}, {3, 1}, {3, 2}} {
		a := list[i]
		if err := p.prove(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if a.chain != want.chain || len(a.files) != want.segments {
			t.Errorf("answer %d is segment %d of chain %d", a.Number, len(a.files), a.chain)
		}
		if _, err := verifiedAnswer(p.committed.KeyFile(), a); err != nil {
			t.Errorf("answer %d: %v", a.Number, err)
		}
	}
	if !bytes.Equal(list[2].files[0], first.files[0]) || said.Len() > 0 {
		t.Errorf("a fork has another beginning; said: %s", said)
	}
	for name, alter := range map[string]func(a *answer){
		"another answer": func(a *answer) { a.Tokens = []int{a.Tokens[0], a.Tokens[1] ^ 1} },
		"more written than it was": func(a *answer) {
			a.PromptTokens, a.Tokens = a.PromptTokens[:5], append(a.PromptTokens[5:6:6], a.Tokens...)
		},
		"another conversation":  func(a *answer) { a.PromptTokens = slices.Concat([]int{2}, a.PromptTokens[1:]) },
		"the segment of a fork": func(a *answer) { a.files = [][]byte{a.files[0], list[2].files[1]} },
		"behind another chain":  func(a *answer) { a.files = [][]byte{list[3].files[0], a.files[1]} },
		"without the first":     func(a *answer) { a.files = a.files[1:] },
	} {
		a := *list[1]
		alter(&a)
		if _, err := verifiedAnswer(p.committed.KeyFile(), &a); !errors.Is(err, provemodel.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where a key has no segments, answers are proved with the conversation before them, and that is said once.
func TestAnswersWithoutSegments(t *testing.T) {
	p, said, write := answersOf(t, config.HideWeights)
	first := write(1, 5)
	for _, a := range []*answer{first, write(slices.Concat(first.PromptTokens, first.Tokens, []int{2})...)} {
		if err := p.prove(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if a.chain != 0 || len(a.files) != 1 {
			t.Errorf("answer %d is segment %d of chain %d", a.Number, len(a.files), a.chain)
		}
		if _, err := verifiedAnswer(p.committed.KeyFile(), a); err != nil {
			t.Errorf("answer %d: %v", a.Number, err)
		}
	}
	if n := strings.Count(said.String(), "answers are proved with all of the conversation before them"); n != 1 {
		t.Errorf("said: %s", said)
	}
}

// What a model writes does not reach a terminal as it is, as JSON neither.
func TestChatJSON(t *testing.T) {
	var out bytes.Buffer
	p := &chatPrinter{out: &out, json: true}
	p.part(1, "a\u009b2J\u202e\x7f\x1b")
	if want := `{"event":"part","number":1,"text":"a\u009b2J\u202e\u007f\u001b"}` + "\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}
