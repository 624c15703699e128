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

// Sampling is a rule by which tokens are drawn from logits.
type Sampling = verifier.Sampling

// ErrOtherToken is wrapped by the error of Verify about a text that does not follow from
// the logits by the rule that was asked for: by default, that each token is the likeliest.
var ErrOtherToken = verifier.ErrOtherToken

// ErrNotCausal is wrapped by the error about a model in which later tokens change the
// logits of earlier ones, so that it cannot write a text token by token.
var ErrNotCausal = errors.New("the model is not causal: later tokens change its logits at earlier positions")

// errNotGenerating is the error about a model that was opened for something else.
var errNotGenerating = errors.New("the model was not opened to generate a text (MaxTokens)")

// TextInput returns the input of a model that was opened with MaxTokens for a prompt
// and what follows it, at most as many tokens as it was opened for: what Circuit.Generate
// has written, or, for calibration, any text.
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

// textInput returns the ids of a prompt and the tokens after it, padded with the last one to the
// given length, and the positions of the logits: those that choose the first at tokens, padded
// with the last of them. It is an error if the text could become longer than most.
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

func reals(ids []int) []float64 { return seq.Map(ids, func(id int) float64 { return float64(id) }) }

// textInput is the function of that name for the circuit's kind of model.
func (c *Circuit) textInput(prompt, tokens []int, at, length, most, positions int) (Input, error) {
	if c.listens {
		return transcriptInput(prompt, c.language.Start, tokens, positions, most)
	}
	if c.answers() {
		return answerInput(prompt, c.language.Start, tokens, positions, most)
	}
	return textInput(prompt, tokens, at, length, most, positions)
}

// GenerateOptions say how tokens are chosen. The zero value, as nil, takes the likeliest.
type GenerateOptions struct {
	// Sampling, if not nil, is the rule by which tokens are drawn from the logits, in place of the likeliest. Prove and Verify are
	// told it too.
	Sampling *Sampling
	// MaxTokens is the most tokens that are written: as many as the key has room for after the prompt, or, if it is for a fixed
	// number, as many as that. 0 is as many as the model was opened for.
	MaxTokens int
	// Logits, if not nil, is told the logits that each token is chosen from, before Each is told the token. The slice is its own.
	Logits func(logits []float64)
	// Each, if not nil, is told every token as soon as it is chosen.
	Each func(token int)
	// Stop, if not nil, is asked after every token, and ends the text there if it says so.
	Stop func() bool
	// Pass, if not nil, is filled with what is computed, so that Prove (ProveOptions) need not run the circuit again, if the processor
	// has computed it.
	Pass *Pass
	// Prefix, if not nil, has keys and values that the processor computed of a text before, and is left those of this one: a text
	// that begins as that did is read from where it differs on, if that takes less time. It is for one Generate at a time.
	Prefix *Pass
	// Device is where the text is written: on its first GPU, or on the processor, as for nil. The tokens are the same.
	Device *Device
	// Observer is warned where a GPU cannot write, so that the processor does, unless nil.
	Observer Observer
}

// Generate has the quantised model go on after a prompt: with the token that has the
// greatest logit, the first of several, until one that ends the text, or as many as the
// model was opened for (MaxTokens). Keys and values of earlier tokens are kept, so that a token costs a row of
// every step. The input that Prove takes for the text is returned beside it. opts may be nil.
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

// mayWrite says why the circuit does not write by a rule, nil for the likeliest tokens; nil if it does.
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

// written is what has been written after a prompt so far: nothing.
func (c *Circuit) written(prompt []int, by *Sampling) *verifier.Written {
	w := &verifier.Written{Prompt: slices.Clone(prompt), Start: slices.Clone(c.language.Start), Sampling: by}
	if c.listens { // the prompt is no text
		w.Prompt = nil
	}
	return w
}

// next is the token that follows from a row of logits, at a place of the text, the first one of those that are written or a later one.
func (c *Circuit) next(by *Sampling, row []int32, frac, place int, first bool) int {
	if c.language.Suppresses() {
		return verifier.Permitted(c.language, row, first)
	}
	return by.Choose(row, frac, place)
}

// keptText is what Generate keeps of a text for the next one that begins alike, such as a conversation with another turn: keys and
// values.
type keptText struct {
	circuit *Circuit
	caches  []forward.RowCache // nil: none can be told
	tokens  []int
	kept    *forward.FirstRows
}

// prefix is the part of a kept text that another one begins with.
type prefix struct {
	kept *forward.FirstRows // nil: of no use
	n    int                // rows
}

// A row that is computed by itself takes about as long as so many within a pass.
const rowsInPass = 4

// of returns how a prompt begins, if the rest is so short that its rows take less time one after the other than a pass of all.
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

// limits returns how many tokens may be written after a prompt of so many, if so many are asked for, and at how many positions
// the circuit has logits meanwhile.
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

// Pass is what Generate has computed of a run, for Prove or, as a Prefix, for the next text. The zero value has nothing. It is for
// one Generate and one Prove.
type Pass struct {
	circuit *Circuit
	in      Input
	wit     *forward.Witness
	text    keptText
}

// beginning returns how a prompt begins, by what is kept of another text; nothing if p is nil.
func (p *Pass) beginning(c *Circuit, prompt []int) prefix {
	if p == nil {
		return prefix{}
	}
	return p.text.of(c, prompt)
}

// take takes the run on an input from the rows that were computed for it, if that can be.
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

// leave leaves the run on an input whose rows are computed, after what complete does of them.
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

// of returns the run of a circuit on an input, nil if it is not that; the pass is empty
// then.
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

// textAxes are those of the rows that change while a text is written, by input: a token,
// and the position whose logits are asked for.
var textAxes = []int{1, 0}

// begin computes the rows of a prompt in a circuit for a longer text, with these inputs:
// in one that is as long as the prompt, if there is one.
func (c *Circuit) begin(ctx context.Context, q *quantise.Model, ints [][]int32, prompt []int) (_ *forward.Rows, err error) {
	defer must.Catch(&err)
	if !c.free() {
		return forward.NewRows(ctx, q.Graph, q.Weights, ints, textAxes)
	}
	short, known, err := c.prompted(prompt)
	must.OK(err)
	return forward.NewRowsAfter(ctx, short.Graph, known, q.Graph, q.Weights, ints, textAxes, 1)
}

// goOn is begin for a prompt whose first rows are known; nil if they are of no use.
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

// checkGenerated holds the tokens of a run of the circuit, in some size, against its logits.
func (c *Circuit) checkGenerated(g *model.Graph, wit *forward.Witness, by *Sampling) error {
	if c.language == nil || !c.language.Generates || g.Instance.Segment != nil { // of which the verifier says whether it is
		return nil
	}
	_, err := verifier.WrittenIn(c.language, by, g, [][]int32{wit.Tensor(g.Inputs[0]), wit.Tensor(g.Inputs[1])}, [][]int32{wit.Tensor(g.Outputs[0])})
	if err != nil {
		return fmt.Errorf("the input is not what the model writes, or %w: %v", ErrNotCausal, err)
	}
	return nil
}

// checkLikeliest checks that a token which the model may write is among the likeliest that a proof of the circuit states, at each position.
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

// writer computes logits while a text grows.
type writer interface {
	// set gives the text a token at a position, and asks for the logits there, the n-th ones.
	set(ctx context.Context, token, position, n int) error
	// logits returns those asked for last, or all of them where rows could not be told apart.
	logits() []int32
	// pass leaves what was computed, if Prove can go on from it.
	pass(ctx context.Context, p *Pass, in Input) error
	// keep leaves what was computed of tokens, if a text that begins with them can go on from it.
	keep(p *keptText, tokens []int)
	close()
}

// onProcessor is a writer on the processor, with the rows of every value.
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

// caches are those of rows of a text; nil if none can be told.
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

// onDevice is a writer on a GPU, with the rows of keys and values. When the GPU fails, the processor goes on from the beginning.
type onDevice struct {
	mu      sync.Mutex // of set and close: a text that is given up is closed while a row is computed
	circuit *forward.RowCircuit
	begin   func() (*devices.Rows, error) // with what the prompt left in the caches
	rows    *devices.Rows                 // nil before the second token: the first one need not wait for it
	row     []int32
	given   [][3]int // what set was given
	again   func(ctx context.Context) (writer, error)
	other   writer // in place of rows, once that has failed
}

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

// pass leaves nothing: the GPU has not kept the rows of all values, and runs the circuit again in less time than they would take to move.
func (w *onDevice) pass(context.Context, *Pass, Input) error { return nil }

// keep leaves nothing: the GPU reads a prompt in one pass in less time than the rows of its end would take.
func (w *onDevice) keep(*keptText, []int) {}

func (w *onDevice) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows != nil {
		w.rows.Close()
	}
}

// write begins to write after a prompt, in a circuit for a longer text with these inputs: on the device's GPU, if it has one.
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

// writeOn is write for a GPU. The error is devices.ErrProcessor, after a warning, where that cannot be.
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

// prompted returns the circuit that is as long as a prompt, with logits at as few positions as there may be, and the inputs that say
// the prompt.
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

// Start returns the tokens that every text of an encoder–decoder's decoder begins with; nil for other models.
func (m *Model) Start() []int {
	if m.language == nil {
		return nil
	}
	return slices.Clone(m.language.Start)
}

// answers says that the model is an encoder–decoder that writes.
func (c *Circuit) answers() bool { return c.language != nil && c.language.Start != nil }

// answerInput returns the inputs of an encoder–decoder that reads a prompt and writes so many tokens, at most most in all: the
// decoder's are start and all of tokens but the last, or, while these are not known, as many others.
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

// transcriptInput is answerInput for a model that listens to samples: the decoder's tokens, and these.
func transcriptInput(samples, start, tokens []int, writes, most int) (Input, error) {
	in, err := answerInput(samples, start, tokens, writes, most)
	if err != nil {
		return nil, fmt.Errorf("audio of %d samples and %d tokens for the decoder: the model was opened for 1 to %d", len(samples), len(start)-1+writes, most)
	}
	return Input{in[1], in[0]}, nil
}

// answerSample is what a model is calibrated on that reads a text and writes it again, up to so many tokens of it.
func answerSample(text, start []int, most int) (Input, error) {
	n := max(1, min(len(text), most-len(start)+1))
	return answerInput(text, start, text[:min(n, len(text))], n, most)
}

// answering is a writer of the decoder's rows; the encoder has run as a whole.
type answering struct {
	onProcessor
	start int // tokens of the decoder before the first that is written
}

// answerAxes are those of the rows that change while a decoder writes, by input, and transcriptAxes those of one that listens.
var answerAxes, transcriptAxes = []int{-1, 0}, []int{1, -1}

// answer begins to write in a circuit with the inputs of a whole answer.
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
	return w, w.put(ctx, w.start-1, c.language.Start[w.start-1]) // whose logits are the first that are asked for
}

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
