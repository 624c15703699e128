package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/regular"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/chain"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/prover"
	"github.com/prove-model/prove-model/prover/verifier"
)

// mostSegment is the greatest size in bytes of a file of a segment that is read.
const mostSegment = 1 << 30

// partOf describes a segment of a text.
type partOf struct {
	Proof string `json:"proof"` // its file
	// First is the position of its first token. Statement is the digest of what its proof states; the proof of the next
	// segment names it.
	First     int    `json:"first"`
	Statement string `json:"statement"`
	// Given are the tokens that were given; Written are those that the model wrote after them.
	Given   []int   `json:"given_tokens"`
	Written []int   `json:"written_tokens"`
	Bytes   int64   `json:"proof_bytes"`
	Seconds float64 `json:"seconds,omitempty"` // that proving took
}

// Print writes a line about the segment.
func (p *partOf) Print(w io.Writer) {
	fmt.Fprintf(w, "segment     from token %d: %d given, %d written", p.First, len(p.Given), len(p.Written))
	if p.Seconds > 0 {
		fmt.Fprintf(w, ", proved in %.2f s", p.Seconds)
	}
	fmt.Fprintf(w, "; %s, %s\n", ui.Printable(p.Proof), ui.Bytes(p.Bytes))
}

// provedChain is the result of proving the continuation of a text, in segments.
type provedChain struct {
	Model      string `json:"model"`
	Parameters int    `json:"parameters"`
	Chain      string `json:"chain"` // the folder
	Before     int    `json:"tokens_before"`
	VK         string `json:"vk"`
	Commitment string `json:"model_commitment"` // hexadecimal
	*textOf
	Segments   []*partOf  `json:"segments"`
	Phases     []ui.Phase `json:"phases"`
	PeakMemory int64      `json:"peak_memory_bytes"`
	security

	strength soundness.Strength
}

// segmentFile returns the file of the proof of a chain's segment, counted from 1.
func segmentFile(folder string, number int) string {
	return filepath.Join(folder, fmt.Sprintf("%04d.proof", number))
}

// valuesFile returns the file of the keys and values of a segment.
func valuesFile(folder string, number int) string {
	return filepath.Join(folder, fmt.Sprintf("%04d.kv", number))
}

// chainKey returns the file of a chain's key: --vk, or key.vk in the chain's folder.
func chainKey(cfg *config.Config) string {
	return cmp.Or(cfg.VK, filepath.Join(cfg.Chain, "key.vk"))
}

// readChain reads the proofs of a chain's segments, in order, up to the first that is missing.
func readChain(folder string) ([][]byte, error) {
	var proofs [][]byte
	for len(proofs) <= model.MaxPast {
		data, err := regular.Read(segmentFile(folder, len(proofs)+1), mostSegment)
		if errors.Is(err, fs.ErrNotExist) {
			return proofs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("--chain: %w", err)
		}
		proofs = append(proofs, data)
	}
	return proofs, nil
}

// readValues reads the files of keys and values of so many segments; the content of a missing file is nil.
func readValues(folder string, segments int) ([][]byte, error) {
	stored := make([][]byte, segments)
	for i := range stored {
		data, err := regular.Read(valuesFile(folder, i+1), mostSegment)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--chain: %w", err)
		}
		stored[i] = data
	}
	return stored, nil
}

// chainAlone refuses settings that do not go with --chain.
func chainAlone(cfg *config.Config) error {
	flag := cfg.FirstOf("each", "max-error", "check", "report", "prompts", "audio", "embedding", "input", "reveal", "proof")
	if flag == "" && (cfg.Logits == config.LogitsAll || cfg.Logits == config.LogitsLast) {
		flag = "logits"
	}
	if flag != "" {
		return fmt.Errorf("--%s is not for segments of a text (--chain)", flag)
	}
	if cfg.Hide != "" {
		return job.WithHint(errors.New("--hide and --chain exclude each other: a segment's keys and values are committed in the open"), "prove the text as one, without --chain")
	}
	return nil
}

// parts divides tokens, the first `given` of which are given, into segments of at most `most` tokens; 0: one segment.
// It returns the number of tokens of each segment, and of its given tokens.
func parts(tokens, given, most int) (sizes, of []int) {
	most = cmp.Or(most, max(tokens, 1))
	for at := 0; at < tokens; at += most {
		n := min(most, tokens-at)
		sizes, of = append(sizes, n), append(of, min(max(given-at, 0), n))
	}
	return sizes, of
}

// runChain proves a chain's next segments and prints the result.
func runChain(cmd *cobra.Command, cfg *config.Config, files *outputs, ph *ui.Phases, stream io.Writer) error {
	if cfg.Chain == "" {
		return job.WithHint(errors.New("--segment-tokens without --chain"), "name the folder of the text's segments with --chain")
	}
	p, err := proveChain(cmd.Context(), cfg, files, ph, stream)
	return show(cmd, cfg, p, job.MemoryHint(err))
}

// proveChain continues the text of a chain, or begins a chain, and proves the new tokens in segments. It does not run
// the float model.
func proveChain(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases, w io.Writer) (_ *provedChain, err error) {
	defer must.Catch(&err)
	must.OK(chainAlone(cfg))
	must.OKAs(os.MkdirAll(cfg.Chain, 0o777), "--chain")
	proofs := must.Get(readChain(cfg.Chain))
	own := *cfg
	own.VK, own.NoResume = chainKey(cfg), true
	own.MaxTokens = max(1, cfg.MaxTokens) // the key of generated texts is the same for every number of tokens
	// The ranges are kept in the chain's folder, so that all its segments have one key, whatever text began it.
	ranges := filepath.Join(cfg.Chain, "ranges.json")
	switch _, err := os.Stat(ranges); {
	case cfg.Ranges != "" || len(cfg.Calibration) > 0:
	case err == nil:
		own.Ranges = ranges
	case cfg.RangesOut == "":
		own.RangesOut = ranges
	}
	s := must.Get(beginProof(ctx, &own, files, ph))
	defer s.end()
	must.OK(s.commit(ctx))
	ph.Begin("read the chain")
	var ch *chain.Chain
	stored, err := readValues(cfg.Chain, len(proofs))
	if err == nil {
		ch, err = s.committed.OpenChain(ctx, proofs, stored, &s.opts.Prove)
	}
	ph.End(err)
	if err != nil {
		return nil, job.WithHint(fmt.Errorf("--chain %s: %s", cfg.Chain, plain(err)), "settings that make a key, such as --tokens and --mode, must be those with which the chain was begun, and so must those that draw tokens")
	}
	before := ch.Tokens()
	tokens := must.Get(s.job.Behind(cfg, before))
	made := &provedChain{Model: s.job.Model.Name(), Parameters: s.job.Model.Parameters(), Chain: cfg.Chain, Before: len(before), VK: s.vk.path, Commitment: s.committed.Commitment().String()}
	given := len(tokens)
	if cfg.MaxTokens > 0 {
		known := must.Get(s.committed.Begun(ch))
		text := must.Get(s.job.Generate(ctx, s.circuit, w, &s.opts.Prove, known, ph.Began()))
		made.textOf = written(text)
		tokens = append(tokens, text.Tokens...)
	}
	sizes, of := parts(len(tokens), given, cfg.SegmentTokens)
	if n := len(proofs) + len(sizes); n > model.MaxPast+1 {
		return nil, job.WithHint(fmt.Errorf("--chain: %d segments are over %d", n, model.MaxPast+1), "longer segments: --segment-tokens")
	}
	for i, n := range sizes {
		began := time.Now()
		first := len(ch.Tokens())
		p, err := s.committed.ProveSegment(ctx, ch, tokens[:n], of[i], &s.opts.Prove)
		if errors.Is(err, prover.ErrOtherValues) {
			return nil, job.WithHint(err, "remove the files "+filepath.Join(cfg.Chain, "*.kv")+": they are computed again")
		}
		if err != nil {
			return nil, s.hint(err)
		}
		file := must.Get(placeSegment(files, cfg.Chain, len(proofs)+i+1, p.File, ch))
		statement := ch.Next(false).Predecessor
		made.Segments = append(made.Segments, &partOf{Proof: file.path, First: first, Statement: hex.EncodeToString(statement[:]), Given: tokens[:of[i]:of[i]], Written: tokens[of[i]:n:n], Bytes: int64(len(p.File)), Seconds: time.Since(began).Seconds()})
		made.security, made.strength = securityOf(p.Strength), p.Strength
		tokens = tokens[n:]
	}
	must.OK(errors.Join(ctx.Err(), s.vk.write(s.committed.KeyFile())))
	made.Phases, made.PeakMemory = ph.All(), ui.PeakMemory()
	return made, files.place()
}

// placeSegment writes the proof of a chain's last segment, and its keys and values, so that whoever continues the chain
// need not compute them again.
func placeSegment(files *outputs, folder string, number int, proof []byte, ch *chain.Chain) (_ *output, err error) {
	defer must.Catch(&err)
	file := must.Get(files.create("proof", segmentFile(folder, number), proofFile))
	must.OK(file.write(proof))
	values := must.Get(files.create("", valuesFile(folder, number), storedFile))
	return file, values.write(ch.Stored(number - 1))
}

// Print writes the result as text.
func (p *provedChain) Print(w io.Writer) {
	ui.Line(w, "model", "%s, %d parameters", p.Model, p.Parameters)
	ui.Line(w, "commitment", "%s", p.Commitment)
	ui.Line(w, "chain", "%s, behind %d tokens", p.Chain, p.Before)
	p.textOf.Print(w)
	for _, s := range p.Segments {
		s.Print(w)
	}
	ui.Line(w, "statement", "%s, which verify --from takes", p.Segments[len(p.Segments)-1].Statement)
	ui.Line(w, "key", "%s", p.VK)
	ui.Line(w, "security", "%s in the weakest round", p.strength)
	ui.LineIf(p.PeakMemory > 0, w, "memory", "%s at most", ui.Bytes(p.PeakMemory))
}

// verifiedChain is the result of verifying a chain.
type verifiedChain struct {
	Valid      bool      `json:"valid"`
	Reason     string    `json:"reason,omitempty"` // why it is not valid
	Commitment string    `json:"model_commitment,omitempty"`
	From       string    `json:"from,omitempty"` // the statement that is assumed to be proved, with all before it
	Segments   []*partOf `json:"segments,omitempty"`
	Text       string    `json:"text,omitempty"` // of all segments, if there is a tokenizer
	Verdict    string    `json:"verdict,omitempty"`
	// Sampling is the rule by which the tokens follow from the logits, if it was given.
	Sampling *provemodel.Sampling `json:"sampling,omitempty"`
	security
	Seconds float64 `json:"seconds"`

	strength soundness.Strength
}

// verifyChain verifies the segments of a chain: all of them, or with --from those after a statement that is assumed to
// be proved.
func verifyChain(cfg *config.Config) (_ *verifiedChain, err error) {
	defer must.Catch(&err)
	if flag := cfg.FirstOf("proof", "input", "input-commitment", "cert", "receipt", "prompt", "prompts", "audio", "text", "text-id"); flag != "" {
		return nil, fmt.Errorf("--%s is about one proof, and --chain has several", flag)
	}
	_, opts, err := asked(cfg)
	must.OK(err)
	var from [sha256.Size]byte
	if cfg.From != "" {
		if n, err := hex.Decode(from[:], []byte(strings.TrimSpace(cfg.From))); err != nil || n != len(from) || len(cfg.From) != 2*len(from) {
			return nil, errors.New("--from is a statement's digest, of 64 hexadecimal digits")
		}
		opts.From = (*provemodel.Commitment)(&from)
	}
	vk := must.GetAs(job.OpenFile(chainKey(cfg)))("key")
	defer vk.Close()
	key, err := provemodel.ReadKey(vk)
	if errors.Is(err, provemodel.ErrInvalid) {
		return &verifiedChain{Reason: plain(err)}, err
	}
	must.OK(err)
	proofs := must.Get(readChain(cfg.Chain))
	if len(proofs) == 0 {
		return nil, fmt.Errorf("--chain %s: there is no segment, which would be %s", cfg.Chain, segmentFile(cfg.Chain, 1))
	}
	tokens := must.Get(job.OpenTokenizer(cfg))
	began, skipped := time.Now(), 0
	if opts.From != nil {
		if skipped, err = pinnedIn(proofs, key, from); err != nil {
			return &verifiedChain{Reason: plain(err)}, err
		}
	}
	list, err := opts.Chain(key, readersOf(proofs[skipped:])...)
	if errors.Is(err, provemodel.ErrInvalid) {
		return &verifiedChain{Reason: reason(cfg, err)}, err
	}
	must.OK(err)
	v := &verifiedChain{Valid: true, Commitment: list[0].Commitment.String(), From: cfg.From, Sampling: opts.Sampling, Seconds: time.Since(began).Seconds()}
	return v, v.add(cfg, list, len(proofs)-len(list), tokens)
}

// readersOf returns a reader for each proof.
func readersOf(proofs [][]byte) []io.Reader {
	return seq.Map(proofs, func(p []byte) io.Reader { return strings.NewReader(string(p)) })
}

// pinnedIn returns the index of the proof with a statement's digest.
func pinnedIn(proofs [][]byte, key *provemodel.Key, from [sha256.Size]byte) (int, error) {
	for i, r := range readersOf(proofs) {
		if digest, err := verifier.StatementOf(key, r); err == nil && digest == from {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: no segment of the chain has the statement %x", provemodel.ErrInvalid, from)
}

// add adds to the result what the segments state. `behind` is the number of segments before them.
func (v *verifiedChain) add(cfg *config.Config, list []*provemodel.Statement, behind int, t *tokenizer.Tokenizer) error {
	var ids []int
	for i, s := range list {
		if err := checkText(cfg, s, t); err != nil {
			return err
		}
		g := s.Generated
		v.Segments = append(v.Segments, &partOf{
			Proof: segmentFile(cfg.Chain, behind+i+1), First: s.Segment.First, Statement: hex.EncodeToString(s.Segment.Statement[:]), Given: g.Prompt, Written: g.Tokens, Bytes: s.Bytes,
		})
		ids = append(append(ids, g.Prompt...), g.Tokens...)
		if i == 0 || s.Strength.Total < v.strength.Total {
			v.security, v.strength = securityOf(s.Strength), s.Strength
		}
		v.Verdict = verdict(g.Ended)
	}
	if t == nil {
		return nil
	}
	var err error
	v.Text, err = t.Decode(ids)
	return err
}

// Print writes the verdict, and what the segments state, as text.
func (v *verifiedChain) Print(w io.Writer) {
	if !v.Valid {
		fmt.Fprintf(w, "NOT VALID: %s\n", ui.Printable(v.Reason))
		return
	}
	plural := "s"
	if len(v.Segments) == 1 {
		plural = ""
	}
	fmt.Fprintf(w, "VALID: a text of the model with commitment %s, in %d segment%s\n", v.Commitment, len(v.Segments), plural)
	ui.LineIf(v.From != "", w, "from", "the statement %s: that what comes before holds is the word of whoever gave it", v.From)
	for _, s := range v.Segments {
		s.Print(w)
		for _, t := range []struct {
			what string
			ids  []int
		}{{"given", s.Given}, {"written", s.Written}} {
			if len(t.ids) > 0 {
				fmt.Fprintf(w, "%-11s %s\n", t.what, ids(t.ids))
			}
		}
	}
	ui.LineIf(v.Text != "", w, "text", "%s", v.Text)
	how := "each written token has the greatest logit"
	if v.Sampling != nil {
		how = "each written token is what " + flags(v.Sampling) + " draws from the proved logits"
	}
	if v.Verdict == verdictEnded {
		how += "; the model ended the text"
	}
	ui.Line(w, "tokens", "%s", how)
	ui.Line(w, "statement", "%s", v.Segments[len(v.Segments)-1].Statement)
	ui.Line(w, "bounds", "not certified: that the integers of the model never wrap rests on who issued the key")
	ui.Line(w, "security", "%s in the weakest round", v.strength)
	ui.Line(w, "verified", "in %.1f ms", 1e3*v.Seconds)
}
