package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/ui"
	"github.com/prove-model/prove-model/prover/protocol/soundness"
	"github.com/prove-model/prove-model/prover/statement"
	"github.com/prove-model/prove-model/vocabulary"
)

// proofMade describes a proof that was made, of one run or of several texts.
type proofMade struct {
	Model       string `json:"model"`
	Parameters  int    `json:"parameters"`
	Input       string `json:"input"`       // file, or how the input was made up; for several texts the number of prompts
	Calibration string `json:"calibration"` // where the ranges come from
	Ranges      string `json:"ranges_out,omitempty"`
	Proof       string `json:"proof"`
	VK          string `json:"vk"`
	Commitment  string `json:"model_commitment"` // hexadecimal
	// CachedCommitment says that the commitment to the model came from the cache.
	CachedCommitment bool       `json:"cached_commitment"`
	Phases           []ui.Phase `json:"phases"`
	ProofBytes       int64      `json:"proof_bytes"`
	KeyBytes         int64      `json:"key_bytes"`
	PeakMemory       int64      `json:"peak_memory_bytes"`
	// Estimate is the estimate that was printed before the commitment.
	Estimate *provemodel.Estimate `json:"estimate"`
	// Devices says what each GPU, and the processor, did.
	Devices []devices.Stats `json:"devices"`
	security
	SelfChecked bool `json:"self_checked"`
	Resumed     int  `json:"resumed,omitempty"` // parts of the work that an interrupted run had done

	strength soundness.Strength
}

// made describes a proof that goes into file. input says where the input comes from.
func (s *session) made(p *provemodel.Proof, file *output, input string) proofMade {
	return proofMade{
		Model: s.job.Model.Name(), Parameters: s.job.Model.Parameters(), Input: input, Calibration: s.job.Calibration(s.circuit), Ranges: s.cfg.RangesOut,
		Proof: file.path, VK: s.vk.path, Commitment: s.committed.Commitment().String(), CachedCommitment: s.committed.Cached(), Phases: s.ph.All(),
		ProofBytes: int64(len(p.File)), KeyBytes: int64(len(s.committed.KeyFile())), PeakMemory: ui.PeakMemory(), Estimate: s.estimate, Devices: s.device.Stats(),
		security: securityOf(p.Strength), SelfChecked: !s.cfg.NoSelfCheck || p.Resumed > 0, Resumed: p.Resumed, strength: p.Strength,
	}
}

// printModel prints what was proved, printFiles where proof and key are, and printEnd the rest.
func (p *proofMade) printModel(w io.Writer) {
	ui.Line(w, "model", "%s, %d parameters", p.Model, p.Parameters)
	ui.Line(w, "commitment", "%s", p.Commitment)
	ui.Line(w, "input", "%s", p.Input)
}

func (p *proofMade) printFiles(w io.Writer) {
	ui.LineIf(p.Resumed > 0, w, "resumed", "with %d parts of the work that an interrupted run had done", p.Resumed)
	ui.Line(w, "proof", "%s, %s", p.Proof, ui.Bytes(p.ProofBytes))
	ui.Line(w, "key", "%s, %s", p.VK, ui.Bytes(p.KeyBytes))
}

func (p *proofMade) printEnd(w io.Writer) {
	ui.LineIf(p.Ranges != "", w, "ranges", "%s", p.Ranges)
	ui.Line(w, "security", "%s in the weakest round", p.strength)
	ui.LineIf(p.PeakMemory > 0, w, "memory", "%s at most", ui.Bytes(p.PeakMemory))
	printDevices(w, p.Devices)
}

// proved is the result of proving a run.
type proved struct {
	proofMade
	Provisional bool   `json:"provisional"` // whether the ranges are those of a random input
	Report      string `json:"report,omitempty"`
	judged
	*textOf
	Embedding []float64 `json:"embedding,omitempty"` // with --embedding
	// Hidden is set for a key that hides weights. The rest of this result then tells more about the weights than the proof
	// does.
	Hidden *hiddenKey `json:"hidden,omitempty"`
	// HideRun is what the proof hides of inputs and outputs, as in --hide.
	HideRun string `json:"hidden_in_proof,omitempty"`

	// Vocabulary is the file of the vocabulary, for a model that takes strings or names classes.
	Vocabulary string `json:"vocabulary,omitempty"`

	words *vocabulary.Vocabulary
}

// compared is an output of the model, with the float model's values.
type compared struct {
	provemodel.Tensor
	Float statement.Numbers `json:"float"`
	provemodel.Accuracy
	// LabelRegret is for outputs of shape [N, classes]: the float model's greatest entry of a row less its entry at the place
	// of this output's greatest entry, for the worst row, as a fraction of the output's range. It is 0 if the places are the
	// same in all rows.
	LabelRegret float64 `json:"label_regret"`
}

// labelsOf says how many labels of an output differ from the float model's, and how many of these are ties; "" for
// outputs that are not labels.
func labelsOf(a provemodel.Accuracy, values, float statement.Numbers) string {
	if a.Labels == 0 {
		return ""
	}
	s := fmt.Sprintf("%d of %d labels", a.Unequal, a.Labels)
	if a.Ties > 0 && !a.TieEdge {
		s += fmt.Sprintf(", %d of them ties: entry %d is %.10g, and %.10g in the float model, whose two greatest scores there are %.2g %% of their range apart",
			a.Ties, a.TieAt, values[a.TieAt], float[a.TieAt], 100*a.TieMargin)
	}
	return s
}

// edgeOf says which entries of an output are off because two scores at the edge of a selection tie; "" if none are.
func edgeOf(a provemodel.Accuracy, values, float statement.Numbers) string {
	if !a.TieEdge {
		return ""
	}
	return fmt.Sprintf("%d of %d entries: entry %d is %.5g, and %.5g in the float model, where candidates %d and %d, of which one counts and the other does not, are %.2g %% of the scores' range apart",
		a.Ties, len(values), a.TieAt, values[a.TieAt], float[a.TieAt], a.TieIn, a.TieOut, 100*a.TieMargin)
}

// prove reads model and input, quantises, commits (or takes the commitment from the
// cache), runs the model, proves the run if it is close enough to the float model,
// verifies the proof, and writes proof and key. On an error no file is written.
//
// The text of a language model that writes (--max-tokens) goes to w as it comes.
func prove(ctx context.Context, cfg *config.Config, files *outputs, ph *ui.Phases, w io.Writer) (_ *proved, err error) {
	defer must.Catch(&err)
	if cfg.Logits == config.LogitsGenerated && cfg.MaxTokens == 0 {
		return nil, errors.New("--logits generated without --max-tokens: nothing is generated")
	}
	file := must.Get(files.create("proof", outputPath(cfg.Proof, cfg.Model, ".proof"), proofFile))
	page := must.Get(createPage(files, "report", cfg.Report))
	s := must.Get(beginProof(ctx, cfg, files, ph))
	defer s.end()
	must.OK(s.commit(ctx))
	j := s.job
	var text *job.Text
	if cfg.MaxTokens > 0 {
		if !s.device.GPU() { // a GPU runs the circuit again by itself
			s.opts.Prove.Pass = new(provemodel.Pass)
		}
		text = must.Get(j.Generate(ctx, s.circuit, w, &s.opts.Prove, nil, ph.Began()))
	}
	p, float, err := s.prove(ctx)
	if err != nil {
		return nil, s.hint(err)
	}
	outputs := must.Get(compare(p.Outputs, float, j.Model.Graph().Vocabulary))
	warnOfOtherKey(s.vk.path, s.committed.Commitment(), ph)
	must.OK(ctx.Err())
	made := s.proved(p, file, j.InputFrom, outputs, logitsOf(j, text, p, float))
	made.Report = cfg.Report
	must.OK(s.add(made, text, p))
	if page != nil {
		r := must.GetAs(reportOf(ctx, cfg, j, s.committed, p, made))("--report")
		must.OKAs(r.Write(page), "--report")
	}
	must.OK(errors.Join(s.vk.write(s.committed.KeyFile()), file.write(p.File)))
	must.OK(files.place())
	return made, nil
}

// logitsOf says how close the logits of a language model are to the float model's; nothing for other models. text is
// what the model wrote, nil if nothing.
func logitsOf(j *job.Job, text *job.Text, p *provemodel.Proof, float []provemodel.Tensor) likeness {
	switch {
	case text != nil:
		got, want := p.Outputs[0], float[0]
		if before := len(text.Start) - 1; before > 0 { // at the decoder's start tokens nothing is chosen
			before *= got.Shape[len(got.Shape)-1]
			got.Values, want.Values = got.Values[before:], want.Values[before:]
		}
		return likenessOf(got, want, len(text.Tokens)) // further rows repeat the last one
	case j.Predicts():
		return likenessOf(p.Outputs[0], float[0], 0)
	}
	return likeness{}
}

// add adds to the description of a proof what it hides, the text that was written, and the embedding, if there are any.
func (s *session) add(made *proved, text *job.Text, p *provemodel.Proof) (err error) {
	if made.Hidden, err = hiddenOf(s.cfg, s.committed); err != nil {
		return err
	}
	if what, _ := s.cfg.HiddenOf(); what.Run() {
		made.HideRun = s.cfg.Hide
	}
	if text != nil {
		made.textOf = written(text)
	}
	if s.cfg.Embedding {
		made.Embedding = p.Outputs[0].Values
	}
	return nil
}

// proved describes a proof that goes into file.
func (s *session) proved(p *provemodel.Proof, file *output, input string, outputs []compared, logits likeness) *proved {
	cfg, j := s.cfg, s.job
	return &proved{
		proofMade: s.made(p, file, input), Provisional: j.Provisional(s.circuit),
		judged: judged{outputs, fidelityOf(cfg, outputs, logits, p.Saturated), logits}, Vocabulary: s.words.name(), words: j.Model.Graph().Vocabulary,
	}
}

// compare compares the proof's outputs with the float model's.
func compare(got, float []provemodel.Tensor, words *vocabulary.Vocabulary) (_ []compared, err error) {
	defer must.Catch(&err)
	outputs := make([]compared, len(float))
	statement.Name(got, words)
	for i, f := range float {
		a := must.Get(provemodel.Compare(got[i], f))
		outputs[i] = compared{got[i], f.Values, a, labelRegret(got[i], f)}
	}
	return outputs, nil
}

// Print writes the result as text.
func (p *proved) Print(w io.Writer) {
	p.printModel(w)
	if p.Provisional {
		fmt.Fprintln(w, provisional)
	}
	for _, o := range p.Outputs {
		printTensor(w, "output", o.Tensor)
		float := []provemodel.Tensor{{Name: o.Name, Shape: o.Shape, Values: o.Float}}
		statement.Name(float, p.words)
		printTensor(w, "float", float[0])
		printNames(w, o.Tensor)
		if labels := labelsOf(o.Accuracy, o.Values, o.Float); labels != "" {
			ui.Line(w, "unequal", "%s", labels)
		} else {
			ui.Line(w, "error", "at most %.3g, %.3g %% of the range; cosine %.6f", o.MaxError, 100*o.RangeError, o.Cosine)
		}
		if tie := edgeOf(o.Accuracy, o.Values, o.Float); tie != "" {
			ui.Line(w, "tie", "%s", tie)
		}
		ui.LineIf(o.Accuracy.NearWhole > 0, w, "near whole", "%d values that it casts to integers", o.Accuracy.NearWhole)
		ui.LineIf(o.Accuracy.Beyond > 0, w, "beyond", "%d values that float32 has as an infinity, or as a 0 to divide by", o.Accuracy.Beyond)
		ui.LineIf(o.Unequal > 0 && o.Labels == 0, w, "unequal", "%d of %d integers", o.Unequal, len(o.Values))
	}
	p.textOf.Print(w)
	p.likeness.Print(w, p.textOf != nil && p.Sampling == nil)
	printEmbedding(w, p.Embedding)
	p.fidelity.Print(w)
	p.printFiles(w)
	ui.LineIf(p.Vocabulary != "", w, "vocabulary", "%s", p.Vocabulary)
	p.Hidden.Print(w)
	ui.LineIf(p.HideRun != "", w, "hides", "%s: the values above are in no proof", p.HideRun)
	if p.Hidden != nil || p.HideRun != "" {
		fmt.Fprintln(w, private)
	}
	p.printEnd(w)
	if warning := p.warning(); warning != "" {
		fmt.Fprintln(w, warning)
	}
}

// printDevices prints a line for each device, unless the processor did everything.
func printDevices(w io.Writer, all []devices.Stats) {
	if len(all) < 2 {
		return
	}
	for _, d := range all {
		lost := ""
		if len(d.Recomputed) > 0 {
			lost = "; recomputed for want of memory: " + strings.Join(d.Recomputed, ", ")
		}
		if d.Lost {
			lost += ", lost"
		}
		fmt.Fprintf(w, "%-11s %d chunks, %d of them moved; busy %.3f s; %s at most, %s reserved; %s up, %s down, %s from other GPUs%s\n", d.Name, d.Chunks, d.Moved, d.Busy,
			ui.Bytes(d.Peak), ui.Bytes(d.Reserved), ui.Bytes(d.Uploaded), ui.Bytes(d.Downloaded), ui.Bytes(d.Copied), lost)
	}
}
