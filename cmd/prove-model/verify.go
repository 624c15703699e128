package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf/tokenizer"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/parallel"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/prover/verifier"
)

// newVerify returns the command verify.
func newVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify a proof; exit code 1 if it does not hold",
		Long: `Verify a proof against a verification key, and print what it proves.

The key stands for the model: whoever relies on the proof must have the key, or
the model commitment that is printed, from a source they trust (--commitment
compares it), or check the key against the model with check-key. With --input
the proof must also be about that input.

Of a language model the tokens are printed, and with --tokenizer or --model, whose
tokenizer must be the key's, prompt and text; --prompt and --text compare them.
Each token that the model wrote must be the likeliest; where they were drawn,
--seed, --temperature, --top-k and --top-p, as they were for the proof, draw them
again from the proved logits, and must give the same.

A proof may be of several texts (--prompts). All are printed, or with --text-id one,
which --prompt and --text then are about; --prompts compares all prompts.

A text that was proved in segments is verified with --chain, which names their folder.
One segment by itself holds only with those before, and is refused with exit code 1. With
--from it and those before are taken for granted, and those behind it are verified.

The key of an adapter (--adapter) has the weights of the model that it is an adapter to
under a root of their own, which is printed, and is the same for all adapters and in the
model's own key: --base compares it, with that key or with the root.

Of a model that takes strings or names classes, the vocabulary whose digest is in the key
maps strings to numbers and numbers to names: --vocabulary names its file, which is
otherwise looked for beside the key. That is checked here, outside of the proof.

With --receipt the proof must be that of a server's answer, whose file, or whose
receipt alone, is given; what it says of drawing is taken from there. --request adds
what was asked, and --receipt-key the server's public key.

That the integers of the model are never so large that they wrap rests on who
issued the key, unless --cert gives a certificate (commit --certify).`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			must.OK(notEmpty(cmd.Flags()))
			if cfg.From != "" && cfg.Chain == "" {
				return job.WithHint(errors.New("--from without --chain"), "name the folder of the text's segments with --chain")
			}
			if cfg.Chain != "" {
				v, err := verifyChain(cfg)
				return show(cmd, cfg, v, err)
			}
			defer collectLate(cfg.VK)()
			v, err := verify(cfg)
			return show(cmd, cfg, v, err)
		}),
	}
	config.AddFlags(cmd.Flags(), "proof", "vk", "cert", "input", "input-commitment", "receipt", "request", "receipt-key", "vocabulary", "image", "commitment", "base", "min-bits", "prompt", "audio", "text", "prompts", "chain", "from", "text-id", "chat", "tokenizer", "model", "seed", "temperature", "top-k", "top-p", "threads", "json")
	cmd.Flags().Lookup("input").Usage = "input `file` that the proof must be about, or name=file, in the formats that proving takes; may be repeated"
	cmd.Flags().Lookup("base").Usage = "key `file` of the model that the key must be an adapter to, or the root of that model's weights, which is printed"
	cmd.Flags().Lookup("seed").Usage = "seed `number` of the tokens that were drawn"
	cmd.Flags().Lookup("audio").Usage = "WAV `file` that the model must have listened to"
	cmd.Flags().Lookup("prompt").Usage = "`text` that the prompt must be"
	cmd.Flags().Lookup("chain").Usage = "`folder` of the proofs of a text's segments, with their key unless --vk names another"
	cmd.Flags().Lookup("prompts").Usage = "`file` of the prompts that the texts of the proof must be about, as for proving"
	cmd.Flags().Lookup("model").Usage = "model whose tokenizer reads the text: a `folder` in the Hugging Face layout, or a GGUF file"
	return cmd
}

// notEmpty refuses flags that say what the proof must be about and are given without a
// value: a script whose variable is empty would have compared nothing.
func notEmpty(flags *pflag.FlagSet) error {
	for _, name := range []string{
		"input", "input-commitment", "cert", "receipt", "request", "receipt-key", "commitment", "base",
		"prompt", "audio", "text", "prompts", "tokenizer", "model", "vocabulary", "chain", "from",
	} {
		if f := flags.Lookup(name); f.Changed && f.Value.String() == "" {
			return job.WithHint(fmt.Errorf("--%s is empty, so nothing would be compared", name), "leave it out if that is what is meant")
		}
	}
	if flags.Changed("chat") && !flags.Changed("prompt") && !flags.Changed("prompts") {
		return job.WithHint(errors.New("--chat without --prompt, so nothing would be compared"), "give the beginning of the conversation with --prompt")
	}
	return nil
}

// verified is the result of verifying a proof.
type verified struct {
	Valid      bool                `json:"valid"`
	Reason     string              `json:"reason,omitempty"` // why it is not valid
	Commitment string              `json:"model_commitment,omitempty"`
	Inputs     []provemodel.Tensor `json:"inputs,omitempty"`
	Outputs    []provemodel.Tensor `json:"outputs,omitempty"`
	Clamped    int                 `json:"input_saturated,omitempty"` // entries of --input that are out of the model's range
	Certified  bool                `json:"certified"`                 // whether --cert shows the static bounds
	// Saturated lists the tables of the key that clamp, with the numbers of clamped values.
	Saturated []statement.Saturation `json:"saturated,omitempty"`
	// Reveals lists outputs of which only the greatest entries are stated.
	Reveals []statement.Reveal `json:"reveals,omitempty"`
	// Hidden lists inputs and outputs that the proof does not state (provemodel.Statement).
	Hidden []statement.Hidden `json:"hidden,omitempty"`
	// Masked says that the proof is masked, so that there are no numbers in Saturated (provemodel.Statement).
	Masked bool `json:"masked,omitempty"`
	// HiddenFor is the number of proofs for which the key hides its weights (provemodel.Statement).
	HiddenFor int `json:"weights_hidden_for_proofs,omitempty"`
	// Base and Adapter are the roots of an adapter's key (provemodel.Statement).
	Base    string `json:"base_root,omitempty"`
	Adapter string `json:"adapter_root,omitempty"`
	*proven
	// Several is the number of texts of a proof of several. Texts describes them or, with --text-id, the rest of the
	// result is about that one text only.
	Several int       `json:"text_count,omitempty"`
	TextID  int       `json:"text_id,omitempty"`
	Texts   []*proven `json:"texts,omitempty"`
	security
	// Strings says what was checked about strings, for a model that takes strings or names classes.
	Strings *wordsSaid `json:"strings,omitempty"`
	// Receipt says what the receipt says, with --receipt.
	Receipt    *receiptSaid `json:"receipt,omitempty"`
	ProofBytes int64        `json:"proof_bytes,omitempty"`
	Seconds    float64      `json:"seconds"`

	strength soundness.Strength
}

// verify checks the proof file against the key file, and the statement against what the
// settings ask for. If the proof is not valid, it returns a result that says why and an
// error that wraps ErrInvalid.
func verify(cfg *config.Config) (_ *verified, err error) {
	defer must.Catch(&err)
	if cfg.Proof == "" || cfg.VK == "" {
		return nil, job.WithHint(errors.New("verify needs a proof and a key"), "prove-model verify --proof x.proof --vk x.vk")
	}
	answer, opts, err := asked(cfg)
	if errors.Is(err, provemodel.ErrInvalid) {
		return &verified{Reason: plain(err)}, err
	}
	must.OK(err)
	must.OK(expectInput(cfg, opts))
	if cfg.Cert != "" {
		cert := must.GetAs(job.OpenFile(cfg.Cert))("certificate")
		defer cert.Close()
		opts.Certificate = cert
	}
	vk := must.GetAs(job.OpenFile(cfg.VK))("key")
	defer vk.Close()
	file := must.GetAs(job.OpenFile(cfg.Proof))("proof")
	defer file.Close()

	var tokens *tokenizer.Tokenizer
	var unread error
	var s *provemodel.Statement
	var seconds float64
	parallel.Do(
		func() {
			start := time.Now()
			s, err = provemodel.VerifyFiles(vk, file, opts)
			seconds = time.Since(start).Seconds()
		},
		func() { tokens, unread = job.OpenTokenizer(cfg) },
	)
	must.OK(unread)
	var text *proven
	var texts []*proven
	several := 0
	if err == nil {
		several = s.Several
		texts, err = readTexts(cfg, s, tokens)
	}
	textID := 0
	if err == nil {
		textID, s, err = ofText(cfg, answer, s)
	}
	if err == nil && s.Several == 0 {
		texts = nil
		text, err = readText(cfg, s, tokens)
	}
	var said *receiptSaid
	if err == nil && answer != nil {
		said, err = answer.hold(cfg, s, tokens)
	}
	if errors.Is(err, provemodel.ErrInvalid) {
		return &verified{Reason: reason(cfg, err)}, err
	}
	must.OK(err)
	v := &verified{
		Valid: true, Masked: s.Masked, HiddenFor: s.HiddenFor, Commitment: s.Commitment.String(), Inputs: s.Inputs, Outputs: s.Outputs, Clamped: s.Clamped, Certified: s.Certified,
		Saturated: s.Saturated, Reveals: s.Reveals, Hidden: s.Hidden, security: securityOf(s.Strength), ProofBytes: s.Bytes, Seconds: seconds, strength: s.Strength,
		proven: text, Several: several, TextID: textID, Texts: texts, Receipt: said, Strings: stringsOf(s, opts.Input != nil),
	}
	if s.Base != nil {
		v.Base, v.Adapter = s.Base.String(), s.Adapter.String()
	}
	return v, nil
}

// expectBase reads --base: the file of a key, or a root.
func expectBase(cfg *config.Config, opts *provemodel.VerifyOptions) error {
	if cfg.Base == "" {
		return nil
	}
	if root, err := provemodel.ParseCommitment(cfg.Base); err == nil {
		opts.ExpectBase = &root
		return nil
	}
	key, err := job.BaseKey(cfg)
	opts.ExpectBaseKey = key
	return err
}

// asked reads what the proof must be about: the answer of a server, if there is a
// receipt, and what the settings say about the input, the sampling and the key.
func asked(cfg *config.Config) (_ *answered, _ *provemodel.VerifyOptions, err error) {
	defer must.Catch(&err)
	opts := &provemodel.VerifyOptions{MinBits: cfg.MinBits, Sampling: job.Sampling(cfg)}
	answer, err := readAnswer(cfg)
	if err == nil && answer != nil {
		if opts.Sampling, err = answer.sampling(); err == nil {
			opts.Input, err = answer.inputs()
		}
	}
	must.OK(err)
	if cfg.Commitment != "" {
		c := must.Get(provemodel.ParseCommitment(cfg.Commitment))
		opts.ExpectCommitment = &c
	}
	must.OK(expectBase(cfg, opts))
	if len(cfg.Input) > 0 && opts.Input != nil {
		err := errors.New("--input and --request both say what the input is")
		return nil, nil, job.WithHint(err, "leave out --input: the arrays of the request are compared")
	}
	if len(cfg.Input) > 0 {
		opts.Input = must.GetAs(job.Read(cfg, cfg.Input))("input")
	}
	opts.Vocabulary = must.Get(readVocabulary(cfg))
	if !cfg.JSON && answer == nil && cfg.TextID == 0 && cfg.Audio == "" {
		opts.FirstValues = previewed // no more are printed
	}
	return answer, opts, nil
}

// reason says why a proof is not valid, and what the user could do.
func reason(cfg *config.Config, err error) string {
	why := plain(err)
	var weak *provemodel.WeakError
	switch {
	case errors.As(err, &weak):
		return fmt.Sprintf("%s; --min-bits %d accepts it", why, weak.Accepts())
	case errors.Is(err, provemodel.ErrOtherToken) && job.Sampling(cfg) == nil:
		return why + "; if tokens were drawn, --seed, --temperature, --top-k and --top-p say how"
	case errors.Is(err, verifier.ErrConditional):
		return why + ", with --chain FOLDER"
	case errors.Is(err, provemodel.ErrOtherInput):
		return fmt.Sprintf("input %s: %s", strings.Join(cfg.Input, ", "), why)
	}
	return why
}

// plain returns the text of an error without the text of ErrInvalid, which the verdict replaces.
func plain(err error) string {
	return strings.TrimPrefix(err.Error(), provemodel.ErrInvalid.Error()+": ")
}

// printSaturated prints where values inside of the model were clamped, or that none
// was, if proofs of the key state that.
func printSaturated(w io.Writer, list []statement.Saturation) {
	count, of := 0, 0
	for _, s := range list {
		if s.Count > 0 {
			ui.Line(w, "saturated", "at most %s", s.String())
		}
		count, of = count+s.Count, of+s.Of
	}
	ui.LineIf(count == 0 && of > 0, w, "saturated", "none of %d values inside the model", of)
}

// printRoots prints the two roots of an adapter's key; nothing for other keys.
func printRoots(w io.Writer, base, adapter string) {
	if base != "" {
		ui.Line(w, "base", "weights under the root %s, the same for every adapter", base)
		ui.Line(w, "adapter", "weights under the root %s", adapter)
	}
}

// Print writes the verdict, and what the proof states, as text.
func (v *verified) Print(w io.Writer) {
	if !v.Valid {
		fmt.Fprintf(w, "NOT VALID: %s\n", ui.Printable(v.Reason))
		return
	}
	fmt.Fprintf(w, "VALID: the model with commitment %s\n", v.Commitment)
	printRoots(w, v.Base, v.Adapter)
	for _, in := range v.Inputs {
		printTensor(w, "maps", in)
	}
	ui.LineIf(v.Clamped > 0, w, "saturated", "%d values of the given input, which stand for the ends of the range", v.Clamped)
	for _, out := range v.Outputs {
		printTensor(w, "to", out)
		printNames(w, out)
	}
	v.Strings.Print(w)
	for _, r := range v.Reveals {
		ui.LineIf(r.Unproved, w, "greatest", "of entries of %s in [%.5g, %.5g]: that there are no others rests on who issued the key", r.Output, r.Least, r.Most)
	}
	if v.TextID > 0 {
		printTextOf(w, v.TextID-1, v.Several)
	}
	v.proven.Print(w)
	for i, t := range v.Texts {
		printTextOf(w, i, len(v.Texts))
		t.Print(w)
	}
	v.Receipt.Print(w)
	printSaturated(w, v.Saturated)
	printHidden(w, v.Masked, v.HiddenFor, v.Hidden)
	if v.Certified {
		ui.Line(w, "bounds", "certified: the integers of the model never wrap")
	} else {
		ui.Line(w, "bounds", "not certified: that the integers of the model never wrap rests on who issued the key")
	}
	ui.Line(w, "security", "%s in the weakest round", v.strength)
	ui.Line(w, "verified", "%s in %.1f ms", ui.Bytes(v.ProofBytes), 1e3*v.Seconds)
}
