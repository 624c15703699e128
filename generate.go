package provemodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/prove-model/prove-model/internal/devices"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/seq"
	"github.com/prove-model/prove-model/prover/circuit/forward"
	"github.com/prove-model/prove-model/prover/circuit/model"
	"github.com/prove-model/prove-model/prover/verifier"
	"github.com/prove-model/prove-model/quantise"
)

// Sampling is a rule by which tokens are drawn at random from the distribution that the logits give.
type Sampling = verifier.Sampling

// ErrOtherToken is wrapped by the error of Verify about a text that does not follow from
// the logits by the rule that the caller expects. Without VerifyOptions.Sampling the rule
// is that each token is the likeliest.
var ErrOtherToken = verifier.ErrOtherToken

// ErrNotCausal is wrapped by the error about a model whose logits at a position depend
// on later tokens. Such a model cannot write a text token by token.
var ErrNotCausal = errors.New("the model is not causal: later tokens change its logits at earlier positions")

// errNotGenerating is the error of functions that generate text, for a model that was opened without MaxTokens.
var errNotGenerating = errors.New("the model was not opened to generate a text (MaxTokens)")

// TextInput returns the input that a model opened with MaxTokens takes for a prompt and
// the tokens after it. There may be at most as many tokens as the model was opened for.
// The tokens are what Circuit.Generate wrote or, for calibration, any text.
func (m *Model) TextInput(prompt, tokens []int) (Input, error) {
	if m.language == nil || !m.language.Generates {
		return nil, errNotGenerating
	}
	if start := m.language.Start; start != nil && m.listens.Samples > 0 {
		return transcriptInput(prompt, start, tokens, max(1, len(tokens)), m.open.most)
	} else if start != nil {
		return answerInput(prompt, start, tokens, max(1, len(tokens)), m.open.most)
	}
	n := m.positions()
	if m.open.written != "" {
		n = max(1, len(tokens))
	}
	length, most := model.Size(m.graph.Inputs[0].Shape), 0
	if m.open.isText() {
		length, most = len(prompt)+len(tokens), m.open.most
	}
	return textInput(prompt, tokens, len(tokens), length, max(length, most), n)
}

// textInput returns two inputs of a language model. The first has the tokens of the prompt and
// those after it, padded to length by repeating the last one. The second has the positions of
// the logits: those from which the first `at` written tokens are chosen, the first of them at
// the prompt's last token, padded to `positions` entries by repeating the last one. It is an
// error if the text could become longer than most.
func textInput(prompt, tokens []int, at, length, most, positions int) (Input, error) {
	all := slices.Concat(prompt, tokens)
	if len(prompt) == 0 || len(tokens) > positions || len(prompt)+positions > most || len(all) > length {
		return nil, fmt.Errorf("a prompt of %d tokens and %d after it: the model was opened for a prompt of 1 to %d and at most %d tokens",
			len(prompt), len(tokens), most-positions, positions)
	}
	in := Input{make([]float64, length), make([]float64, positions)}
	for i := range in[0] {
		in[0][i] = float64(all[min(i, len(all)-1)])
	}
	for i := range in[1] {
		in[1][i] = float64(len(prompt) - 1 + min(i, max(at, 1)-1))
	}
	return in, nil
}

// reals returns token ids as float64, as inputs are.
func reals(ids []int) []float64 { return seq.Map(ids, func(id int) float64 { return float64(id) }) }

// textInput returns the inputs for a prompt and tokens, in the form that the circuit's kind of model takes: a speech
// model, an encoder–decoder, or a decoder alone.
func (c *Circuit) textInput(prompt, tokens []int, at, length, most, positions int) (Input, error) {
	if c.listens {
		return transcriptInput(prompt, c.language.Start, tokens, positions, most)
	}
	if c.answers() {
		return answerInput(prompt, c.language.Start, tokens, positions, most)
	}
	return textInput(prompt, tokens, at, length, most, positions)
}

// GenerateOptions say how tokens are chosen. With the zero value, or nil, each token is the likeliest.
type GenerateOptions struct {
	// Sampling, if not nil, is the rule by which tokens are drawn from the logits. Prove and Verify must be given the same rule.
	Sampling *Sampling
	// MaxTokens is the greatest number of tokens that are written. It may be as large as the room that the key has after the
	// prompt or, for a key for a fixed number of tokens, as that number. 0 is the number that the model was opened for.
	MaxTokens int
	// Logits, if not nil, is called with the logits that each token is chosen from, before Each is called with the token.
	// It may keep the slice.
	Logits func(logits []float64)
	// Each, if not nil, is called with every token as soon as it is chosen.
	Each func(token int)
	// Stop, if not nil, is called after every token. If it returns true, the text ends there.
	Stop func() bool
	// Pass, if not nil, receives the values that were computed, so that Prove (ProveOptions.Pass) need not run the circuit again. It
	// stays empty if a GPU wrote the text.
	Pass *Pass
	// Prefix, if not nil, may hold keys and values that the processor computed for an earlier text, and receives those of this
	// text. If the two texts begin alike, the prompt is read only from their first difference on, provided that takes less time
	// than reading all of it. Only one Generate may use a Prefix at a time.
	Prefix *Pass
	// Device is where the text is written: on the first GPU of it, or on the processor if it has none or is nil. The
	// tokens are the same.
	Device *Device
	// Observer, if not nil, is warned if the GPU cannot write the text and the processor does it.
	Observer Observer
}

// Generate has the quantised model continue a prompt. Unless opts has a Sampling, each token is the one with
// the greatest logit, the first of several. The text ends with a token that ends texts, or after MaxTokens
// tokens. Keys and values of earlier tokens are kept, so a token costs one row of every step. Generate also
// returns the input that Prove takes for the text. opts may be nil.
func (c *Circuit) Generate(ctx context.Context, prompt []int, opts *GenerateOptions) (_ *verifier.Written, _ Input, err error) {
	defer must.Catch(&err)
	o := orDefault(opts)
	by := o.Sampling
	must.OK(c.mayWrite(by))
	g := c.quantised.Graph
	length := model.Size(g.Tensors[g.Inputs[0]].Shape)
	limit, most, err := c.limits(len(prompt), o.MaxTokens)
	must.OK(err)
	longest := length
	if c.free() {
		length, longest = len(prompt)+most, c.quantised.Circuit.Free[0].Bound
	}
	in := must.Get(c.textInput(prompt, nil, most, length, longest, most))
	q := must.Get(c.sized(in))
	ints, _, err := q.QuantiseInput(in)
	must.OK(err)
	out := &q.Graph.Tensors[q.Graph.Outputs[0]]
	w, logits := c.written(prompt, by), model.Size(out.Shape)
	watch := newWatch(o.Observer)
	defer watch.stop()
	var text writer
	before := len(w.Before()) // tokens of the text that is written on
	known := o.Prefix.beginning(c, prompt)
	must.OK(await(ctx, func() (err error) {
		if text, err = c.write(ctx, o.Device, watch.warn, q, ints, prompt, known); err == nil && ctx.Err() != nil { // nobody waits for it
			text.close()
			err = ctx.Err()
		}
		return err
	}))
	defer text.close()
	for {
		row := text.logits()
		if width := logits / most; len(row) > width { // all of them, where rows could not be told apart
			row = row[len(w.Tokens)*width:][:width]
		}
		token := c.next(by, row, out.Frac, before+len(w.Tokens), len(w.Tokens) == 0)
		w.Tokens = append(w.Tokens, token)
		if o.Logits != nil {
			o.Logits(out.Reals(row))
		}
		if o.Each != nil {
			o.Each(token)
		}
		w.Ended = slices.Contains(c.language.Ends, token)
		n := len(w.Tokens)
		if w.Ended || n == limit || o.Stop != nil && o.Stop() {
			break
		}
		at := len(prompt) + n - 1
		must.OK(await(ctx, func() error { return text.set(ctx, token, at, n) }))
	}
	if c.free() {
		length = len(prompt) + len(w.Tokens)
	}
	if c.freely() {
		most = len(w.Tokens)
	}
	if in, err = c.textInput(prompt, w.Tokens, len(w.Tokens), length, longest, most); err == nil && o.Pass != nil {
		err = await(ctx, func() error { return text.pass(ctx, o.Pass, in) })
	}
	if err == nil && o.Prefix != nil {
		text.keep(&o.Prefix.text, slices.Concat(prompt, w.Tokens[:len(w.Tokens)-1]))
	}
	return w, in, err
}

// mayWrite returns an error that says why the circuit cannot write by a rule; by is nil for the likeliest tokens.
func (c *Circuit) mayWrite(by *Sampling) error {
	switch {
	case c.language == nil || !c.language.Generates:
		return errNotGenerating
	case c.answers() && !c.freely():
		return fmt.Errorf("an encoder–decoder writes with a key for texts of any length: %w", c.report.OneBatch)
	case by == nil:
		return nil
	case c.language.Suppresses():
		return errors.New("the model has tokens that it does not write (suppress_tokens): it writes the likeliest of the others, and draws none")
	}
	return by.Validate()
}

// written returns the record of a text after a prompt, to which no token has been added yet.
func (c *Circuit) written(prompt []int, by *Sampling) *verifier.Written {
	w := &verifier.Written{Prompt: slices.Clone(prompt), Start: slices.Clone(c.language.Start), Sampling: by}
	if c.listens { // the prompt is no text
		w.Prompt = nil
	}
	return w
}

// next chooses a token from a row of logits, which are integers in units of 2^(−frac). place is the token's index in
// the whole text; first says that it is the first written token, which some models restrict further.
func (c *Circuit) next(by *Sampling, row []int32, frac, place int, first bool) int {
	if c.language.Suppresses() {
		return verifier.Permitted(c.language, row, first)
	}
	return by.Choose(row, frac, place)
}

// keptText has the keys and values of a text, for the next text that begins alike, such as the same conversation with one more
// turn.
type keptText struct {
	circuit *Circuit
	caches  []forward.RowCache // the tensors whose rows are kept; nil if the circuit has none that can be listed
	tokens  []int              // of the kept rows
	kept    *forward.FirstRows // nil if there are none
}

// prefix is the beginning of a kept text that another text shares.
type prefix struct {
	kept *forward.FirstRows // nil if nothing can be used
	n    int                // how many tokens, and so rows, the two texts share
}

// rowsInPass is how many rows a pass over a whole prompt computes in the time that a single row takes by itself, about.
const rowsInPass = 4

// of returns the rows that a prompt shares with the kept text. The result is empty if the rest of the prompt is so long
// that one pass over the whole prompt takes less time than the remaining rows one by one.
func (p *keptText) of(c *Circuit, prompt []int) prefix {
	if p.kept == nil || p.circuit != c {
		return prefix{}
	}
	n := 0
	for n < min(len(p.tokens), len(prompt)-1) && p.tokens[n] == prompt[n] {
		n++
	}
	if n == 0 || rowsInPass*(len(prompt)-n) > len(prompt) {
		return prefix{}
	}
	return prefix{p.kept, n}
}

// limits returns how many tokens may be written after a prompt of `prompt` tokens if `asked` are asked for (0: the default),
// and at how many positions the circuit that writes them has logits.
func (c *Circuit) limits(prompt, asked int) (limit, positions int, err error) {
	most, why := c.writes, "which the model was opened for"
	if limit = most; asked != 0 {
		limit = asked
	}
	if c.freely() {
		free := c.quantised.Circuit.Free
		room, written := free[0].Bound-prompt, free[len(free)-1].Bound
		if c.answers() {
			room = written + 1 - len(c.language.Start)
		}
		if most, why = min(written, room), fmt.Sprintf("for which the key has room after a prompt of %d tokens", prompt); most < 1 {
			return 0, 0, fmt.Errorf("a prompt of %d tokens: the key is for texts of up to %d (--tokens), prompt and answer together", prompt, free[0].Bound)
		}
		if asked == 0 {
			limit = min(limit, most)
		}
	}
	if limit < 1 || limit > most {
		return 0, 0, fmt.Errorf("MaxTokens is %d: want 1 to %d, %s, or 0 for what the model was opened for", limit, most, why)
	}
	if c.freely() {
		most = limit
	}
	return limit, most, nil
}

// Pass has what Generate computed: the values of the run, for Prove, or keys and values, for the next text
// (GenerateOptions.Prefix). The zero value has nothing. A Pass is filled by one Generate and used by one Prove.
type Pass struct {
	circuit *Circuit
	in      Input
	wit     *forward.Witness
	text    keptText
}

// beginning returns the rows that a prompt shares with the text of a Pass; none if p is nil.
func (p *Pass) beginning(c *Circuit, prompt []int) prefix {
	if p == nil {
		return prefix{}
	}
	return p.text.of(c, prompt)
}

// take turns the rows that were computed while writing into the witness of a run on in. It leaves p empty if some steps
// were computed as a whole for every row, or the circuit has one length only.
func (p *Pass) take(ctx context.Context, c *Circuit, rows *forward.Rows, in Input) error {
	if whole, _ := rows.Whole(); whole > 0 || !c.free() {
		return nil
	}
	return p.leave(ctx, c, rows, in, func(known [][]int32) {
		// The last token's row, and the positions behind that of the last logits.
		last := len(known[0]) - 1
		must.OK(rows.SetOne(ctx, 0, last, known[0][last:]))
		for i := 1; i < len(known[1]); i++ {
			if known[1][i] == known[1][i-1] {
				must.OK(rows.SetOne(ctx, 1, i, known[1][i:i+1]))
			}
		}
	})
}

// leave stores in p the witness of a run on in. complete first sets the rows of the inputs that were not set while
// writing.
func (p *Pass) leave(ctx context.Context, c *Circuit, rows *forward.Rows, in Input, complete func(inputs [][]int32)) (err error) {
	defer must.Catch(&err)
	q := must.Get(c.sized(in))
	known, _, err := q.QuantiseInput(in)
	must.OK(err)
	complete(known)
	wit := must.Get(rows.Witness(ctx, q.Graph, q.Weights, known))
	p.circuit, p.in, p.wit = c, in, wit
	return nil
}

// of returns the witness of the run of a circuit on an input, if p has it, else nil. It
// empties p but for the kept text.
func (p *Pass) of(c *Circuit, in Input) *forward.Witness {
	if p == nil || p.wit == nil {
		return nil
	}
	wit := p.wit
	if p.circuit != c || !slices.EqualFunc(p.in, in, slices.Equal[[]float64]) {
		wit.Close()
		wit = nil
	}
	*p = Pass{text: p.text}
	return wit
}

// textAxes has, for each input, the axis along which it grows while a text is written:
// the tokens' axis 1, and axis 0 of the positions whose logits are asked for.
var textAxes = []int{1, 0}

// begin computes the rows of a prompt, in the circuit q of a longer text with the inputs
// ints. If the length is free, it runs the circuit that is as long as the prompt, which
// takes less time.
func (c *Circuit) begin(ctx context.Context, q *quantise.Model, ints [][]int32, prompt []int) (_ *forward.Rows, err error) {
	defer must.Catch(&err)
	if !c.free() {
		return forward.NewRows(ctx, q.Graph, q.Weights, ints, textAxes)
	}
	short, known, err := c.prompted(prompt)
	must.OK(err)
	return forward.NewRowsAfter(ctx, short.Graph, known, q.Graph, q.Weights, ints, textAxes, 1)
}

// goOn does the work of begin if the first rows of the prompt are known: it computes the other rows one by one. It
// returns nil if the known rows are of no use.
func (c *Circuit) goOn(ctx context.Context, q *quantise.Model, ints [][]int32, prompt []int, known prefix) (_ *forward.Rows, err error) {
	defer must.Catch(&err)
	if known.kept == nil {
		return nil, nil
	}
	rows := must.Get(forward.NewRowsFrom(known.kept, known.n, q.Graph, q.Weights, ints, textAxes))
	if rows == nil {
		return nil, nil
	}
	for at := known.n; at < len(prompt); at++ {
		must.OK(rows.SetOne(ctx, 0, at, []int32{int32(prompt[at])}))
	}
	return rows, rows.SetOne(ctx, 1, 0, ints[1][:1])
}

// checkGenerated checks that the tokens of a run follow from its logits, by a rule or, if by is nil, as the likeliest.
// g is the circuit in the size of the run. Segments are checked by the verifier.
func (c *Circuit) checkGenerated(g *model.Graph, wit *forward.Witness, by *Sampling) error {
	if c.language == nil || !c.language.Generates || g.Instance.Segment != nil { // the verifier checks segments
		return nil
	}
	_, err := verifier.WrittenIn(c.language, by, g, [][]int32{wit.Tensor(g.Inputs[0]), wit.Tensor(g.Inputs[1])}, [][]int32{wit.Tensor(g.Outputs[0])})
	if err != nil {
		return fmt.Errorf("the input is not what the model writes, or %w: %v", ErrNotCausal, err)
	}
	return nil
}

// checkLikeliest is for a model with tokens that it does not write, and a proof that states the likeliest tokens in
// place of logits. It checks that at each position one of the stated tokens is one that the model may write.
func (c *Circuit) checkLikeliest(g *model.Graph, wit *forward.Witness) error {
	if !c.language.Suppresses() || len(g.Reveals) == 0 || g.Texts > 0 {
		return nil
	}
	_, err := verifier.WrittenIn(c.language, nil, g, [][]int32{wit.Tensor(g.Inputs[0]), wit.Tensor(g.Inputs[1])}, [][]int32{wit.Tensor(g.Outputs[0])})
	if err != nil {
		return fmt.Errorf("%w: a proof that states the logits says which is the likeliest of the others (Logits, --logits generated)", err)
	}
	return nil
}

// writer computes the logits of a text that grows token by token.
type writer interface {
	// set puts a token at a position of the text, and computes the logits there, which are the n-th of the text (counted
	// from 0).
	set(ctx context.Context, token, position, n int) error
	// logits returns the logits that were computed last; or those of all positions, if the circuit is computed as a whole
	// for every token.
	logits() []int32
	// pass stores what was computed in p, if Prove can use it.
	pass(ctx context.Context, p *Pass, in Input) error
	// keep stores the keys and values of tokens in p, if a text that begins with these tokens can use them.
	keep(p *keptText, tokens []int)
	close()
}

// onProcessor is a writer on the processor. It keeps the rows of every tensor.
type onProcessor struct {
	c    *Circuit
	rows *forward.Rows
}

func (w *onProcessor) set(ctx context.Context, token, position, n int) error {
	return w.rows.Set(ctx, []int{position, n}, [][]int32{{int32(token)}, {int32(position)}})
}

func (w *onProcessor) logits() []int32 { return w.rows.Output(0) }

func (w *onProcessor) pass(ctx context.Context, p *Pass, in Input) error {
	return p.take(ctx, w.c, w.rows, in)
}

// caches lists the tensors of which later rows of a text read earlier ones, such as keys and values; nil if the circuit
// has no row circuit.
func (c *Circuit) caches() []forward.RowCache {
	if !c.freely() {
		return nil
	}
	one, err := forward.NewRowCircuit(c.quantised.Graph, c.quantised.Weights, textAxes)
	if err != nil {
		return nil
	}
	return one.Caches
}

func (w *onProcessor) keep(p *keptText, tokens []int) {
	if p.circuit != w.c {
		*p = keptText{circuit: w.c, caches: w.c.caches()}
	}
	if whole, _ := w.rows.Whole(); whole == 0 && p.caches != nil {
		p.tokens, p.kept = tokens, w.rows.Keep(p.caches, 0, len(tokens))
	}
}

func (w *onProcessor) close() {}

// onDevice is a writer on a GPU, which keeps the rows of keys and values only. If the GPU fails, the processor begins
// the text anew and sets all tokens again.
type onDevice struct {
	// mu is held by set and close: a text whose context has ended is closed while set may still run.
	mu      sync.Mutex
	circuit *forward.RowCircuit
	begin   func() (*devices.Rows, error) // puts the keys and values of the prompt into the caches on the GPU
	// rows is nil before the second token: the first token is chosen from the prompt's logits and does not wait for begin.
	rows  *devices.Rows
	row   []int32
	given [][3]int                                  // arguments of all calls of set, to repeat them on the processor
	again func(ctx context.Context) (writer, error) // makes a writer on the processor
	other writer                                    // the writer on the processor, once the GPU has failed
}

// set implements writer. The first call puts the prompt's keys and values into the caches. If the GPU has failed, it
// makes a writer on the processor, repeats all earlier calls there, and uses that writer from then on.
func (w *onDevice) set(ctx context.Context, token, position, n int) (err error) {
	defer must.Catch(&err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.given = append(w.given, [3]int{token, position, n})
	if w.other == nil {
		if w.rows == nil {
			w.rows, err = w.begin()
		}
		if err == nil {
			w.row, err = w.rows.Next(ctx, w.circuit.Values([]int{position, n}, [][]int32{{int32(token)}, {int32(position)}}))
		}
		if !errors.Is(err, devices.ErrProcessor) {
			return err
		}
		other := must.Get(w.again(ctx))
		for _, g := range w.given[:len(w.given)-1] {
			must.OK(other.set(ctx, g[0], g[1], g[2]))
		}
		w.other = other
	}
	return w.other.set(ctx, token, position, n)
}

func (w *onDevice) logits() []int32 {
	if w.other != nil {
		return w.other.logits()
	}
	return w.row
}

// pass stores nothing: the GPU has not kept the rows of all tensors. Running the circuit again takes it less time than
// rows would take to copy.
func (w *onDevice) pass(context.Context, *Pass, Input) error { return nil }

// keep stores nothing: a GPU reads a whole prompt in one pass, in less time than it would compute the prompt's last
// rows one by one.
func (w *onDevice) keep(*keptText, []int) {}

func (w *onDevice) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows != nil {
		w.rows.Close()
	}
}

// write begins a text after a prompt: it reads the prompt, and returns a writer of the tokens that follow. q is the
// circuit of the longer text, with the inputs ints. The writer is on the device's GPU, if it has one that can do it.
// known are rows of the prompt that were computed before.
func (c *Circuit) write(ctx context.Context, dev *Device, warn devices.Log, q *quantise.Model, ints [][]int32, prompt []int, known prefix) (_ writer, err error) {
	defer must.Catch(&err)
	if c.answers() {
		if dev != nil && dev.GPU() {
			warn("encoder–decoders write on the CPU")
		}
		return c.answer(ctx, q, ints, prompt)
	}
	onCPU := func(ctx context.Context) (writer, error) {
		rows, err := c.goOn(ctx, q, ints, prompt, known)
		if rows == nil && err == nil {
			rows, err = c.begin(ctx, q, ints, prompt)
		}
		return &onProcessor{c, rows}, err
	}
	if dev == nil || !dev.GPU() {
		return onCPU(ctx)
	}
	w, err := c.writeOn(ctx, dev.set(), warn, q, ints, prompt)
	if errors.Is(err, devices.ErrProcessor) {
		return onCPU(ctx)
	}
	must.OK(err)
	w.again = onCPU
	return w, nil
}

// writeOn begins a text on a GPU. If that is not possible it warns and returns devices.ErrProcessor.
func (c *Circuit) writeOn(ctx context.Context, set *devices.Set, warn devices.Log, q *quantise.Model, ints [][]int32, prompt []int) (_ *onDevice, err error) {
	defer must.Catch(&err)
	if !c.free() {
		warn("the model has texts of one length only: it writes on the CPU")
		return nil, devices.ErrProcessor
	}
	circuit, err := forward.NewRowCircuit(q.Graph, q.Weights, textAxes)
	if err != nil {
		warn("the GPU cannot write with this model: %v; the CPU does", err)
		return nil, devices.ErrProcessor
	}
	short, known, err := c.prompted(prompt)
	must.OK(err)
	wit := must.Get(forward.RunOn(ctx, set.Prompt(warn), short.Graph, short.Weights, known))
	defer wit.Close()
	w := &onDevice{circuit: circuit}
	logits := wit.Tensor(short.Graph.Outputs[0])
	w.row = append(w.row, logits[:len(logits)/len(known[1])]...)
	var begun [][]int32
	for _, x := range circuit.Caches {
		from, to := short.Graph.Tensors[x.Of].Shape, circuit.Graph.Tensors[x.Whole].Shape
		begun = append(begun, forward.Grown(wit.Tensor(x.Of), from, to))
	}
	must.OK(set.Kept(wit, warn))
	w.begin = func() (*devices.Rows, error) { return set.Rows(circuit, begun, warn) }
	return w, nil
}

// prompted returns the circuit that is as long as a prompt and has logits at as few positions as it can, with its inputs for the
// prompt.
func (c *Circuit) prompted(prompt []int) (_ *quantise.Model, _ [][]int32, err error) {
	defer must.Catch(&err)
	positions := c.writes
	if c.freely() {
		positions = 1
	}
	first := must.Get(c.textInput(prompt, nil, 1, len(prompt), c.quantised.Circuit.Free[0].Bound, positions))
	short := must.Get(c.sized(first))
	known, _, err := short.QuantiseInput(first)
	return short, known, err
}

// Start returns the tokens with which every text of an encoder–decoder's decoder begins; nil for other models.
func (m *Model) Start() []int {
	if m.language == nil {
		return nil
	}
	return slices.Clone(m.language.Start)
}

// answers says that the model is an encoder–decoder that writes, speech models included.
func (c *Circuit) answers() bool { return c.language != nil && c.language.Start != nil }

// answerInput returns the inputs of an encoder–decoder that reads a prompt and writes `writes` tokens: the prompt, and what
// the decoder reads, which is start and all of tokens but the last. If fewer tokens are known, the last known one is repeated.
// Neither input may be longer than most.
func answerInput(prompt, start, tokens []int, writes, most int) (Input, error) {
	n := len(start) - 1 + writes
	if len(prompt) == 0 || writes < 1 || n > most || len(tokens) > writes {
		return nil, fmt.Errorf("a prompt of %d tokens and %d for the decoder: the model was opened for 1 to %d of either", len(prompt), n, most)
	}
	decoder := slices.Concat(start, tokens)
	in := Input{reals(prompt), make([]float64, n)}
	for i := range in[1] {
		in[1][i] = float64(decoder[min(i, len(decoder)-1)])
	}
	return in, nil
}

// transcriptInput returns the inputs of a speech model that hears samples and writes tokens: first what the decoder
// reads, as in answerInput, then the samples.
func transcriptInput(samples, start, tokens []int, writes, most int) (Input, error) {
	in, err := answerInput(samples, start, tokens, writes, most)
	if err != nil {
		return nil, fmt.Errorf("audio of %d samples and %d tokens for the decoder: the model was opened for 1 to %d", len(samples), len(start)-1+writes, most)
	}
	return Input{in[1], in[0]}, nil
}

// answerSample returns a sample to calibrate an encoder–decoder on: the model reads a text and writes the same text, or
// so much of it that the decoder has at most `most` tokens.
func answerSample(text, start []int, most int) (Input, error) {
	n := max(1, min(len(text), most-len(start)+1))
	return answerInput(text, start, text[:min(n, len(text))], n, most)
}

// answering is a writer for encoder–decoders. The encoder has run on the whole prompt; the writer computes rows of the
// decoder.
type answering struct {
	onProcessor
	start int // number of tokens with which the decoder's text begins, before the first written one
}

// answerAxes has, for each input of an encoder–decoder, the axis along which it grows while the decoder writes; −1 is
// an input that does not grow. transcriptAxes has those of a speech model.
var answerAxes, transcriptAxes = []int{-1, 0}, []int{1, -1}

// answer begins an answer to a prompt with an encoder–decoder. q is the circuit of the whole answer, with the inputs
// ints.
func (c *Circuit) answer(ctx context.Context, q *quantise.Model, ints [][]int32, prompt []int) (_ writer, err error) {
	defer must.Catch(&err)
	short, known, err := c.prompted(prompt)
	must.OK(err)
	axes := answerAxes
	if c.listens {
		axes = transcriptAxes
	}
	rows := must.Get(forward.NewRowsAfter(ctx, short.Graph, known, q.Graph, q.Weights, ints, axes, -1))
	w := &answering{onProcessor{c, rows}, len(c.language.Start)}
	return w, w.put(ctx, w.start-1, c.language.Start[w.start-1]) // the first written token is chosen from the logits at the last start token
}

// put puts a token at a position of the decoder's text, and computes the rows that depend on it.
func (w *answering) put(ctx context.Context, at, token int) error {
	if w.c.listens {
		return w.rows.Set(ctx, []int{at, 0}, [][]int32{{int32(token)}, nil})
	}
	return w.rows.Set(ctx, []int{0, at}, [][]int32{nil, {int32(token)}})
}

func (w *answering) set(ctx context.Context, token, _, n int) error {
	return w.put(ctx, w.start-1+n, token)
}

func (w *answering) pass(ctx context.Context, p *Pass, in Input) error {
	return p.leave(ctx, w.c, w.rows, in, func([][]int32) {}) // every row has been set
}

func (w *answering) keep(*keptText, []int) {}
