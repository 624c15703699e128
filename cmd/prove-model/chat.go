package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	provemodel "github.com/prove-model/prove-model"
	"github.com/prove-model/prove-model/config"
	"github.com/prove-model/prove-model/hf/chat"
	"github.com/prove-model/prove-model/internal/job"
	"github.com/prove-model/prove-model/internal/must"
	"github.com/prove-model/prove-model/internal/program"
	"github.com/prove-model/prove-model/internal/ui"
)

// newChat returns the command chat.
func newChat() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chat --model FOLDER|FILE.gguf",
		Short: "Talk with a language model; every answer is proved meanwhile",
		Long: `Talk with a language model that has a chat template. Each line is a turn; the
answer is printed as it is written, and proved while the next one is typed.

  prove-model chat --model FOLDER --system "Answer in one sentence."

/verify has the last answer's proof verified with the model's key, and says what it
shows; /verify all, or a number, others. /save FOLDER writes the key, the proofs and
a transcript, which ` + "`prove-model verify`" + ` takes anywhere. /help lists all commands.

Ctrl-C ends an answer where it is, ctrl-D the conversation. A standard input that is
no terminal is read to its end, one turn a line; with --json events are printed, one
object a line. The model's key is that of ` + "`commit --logits generated`" + ` with the same
--tokens, which bounds the whole conversation.`,
		Args: program.NoArgs,
		RunE: withSettings(func(cmd *cobra.Command, cfg *config.Config, _ []string) (err error) {
			return job.MemoryHint(talk(cmd, cfg))
		}),
	}
	config.AddFlags(cmd.Flags(), "model", "adapter", "base", "system", "stop", "max-tokens", "tokens", "temperature", "top-k", "top-p", "seed", "calibration", "ranges", "mode", "target-error", "headroom",
		"soundness", "hash", "security-bits", "grind-bits", "memory-gb", "chunk-budget-gb", "cpu-workers", "gpu", "gpu-threshold", "multi-gpu", "devices", "gpu-streams", "threads",
		"no-cache", "cache-dir", "no-self-check", "quiet", "json", "progress-json")
	cmd.Flags().Lookup("max-tokens").Usage = fmt.Sprintf("most `tokens` of an answer (default: %d, or what is left of --tokens)", longestAnswer)
	cmd.Flags().Lookup("seed").Usage = "seed `number` of the tokens that are drawn"
	cmd.Flags().Lookup("json").Usage = "print events as JSON, one object a line"
	return cmd
}

const (
	longestAnswer = 512     // default of --max-tokens
	longestTurn   = 1 << 20 // most bytes of a line of the input
)

const chatHelp = `/verify [N|all]  verify the proof of the last answer, of answer N, or of all
/save FOLDER     write the key, all proofs and the transcript into a new folder
/system [TEXT]   tell the model something before all turns, or show what it is told
/clear           begin another conversation; answers so far can still be verified and saved
/quit            end, as ctrl-D does; ctrl-C ends an answer
/help            this list`

// talk has a conversation until its input ends.
func talk(cmd *cobra.Command, cfg *config.Config) (err error) {
	defer must.Catch(&err)
	out := &chatPrinter{out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), json: cfg.JSON, quiet: cfg.Quiet}
	if f, ok := cmd.InOrStdin().(*os.File); ok && !cfg.JSON {
		out.terminal = term.IsTerminal(int(f.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	}
	c := must.Get(openConversation(cmd.Context(), cfg, program.Progress(cmd, cfg), out))
	// From here on an interrupt ends an answer, not the command.
	ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context()))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	c.signals = signals
	proving := c.proofs.start(ctx)
	defer func() {
		cancel()
		<-proving
		c.end()
	}()
	if cmd.Context().Err() != nil {
		return cmd.Context().Err()
	}
	out.say("%s: /help lists what can be said besides", c.job.Model.Name())
	lines := linesOf(cmd.InOrStdin())
	for {
		out.ask()
		select {
		case l := <-lines:
			switch err := c.take(ctx, l); {
			case errors.Is(err, errQuit):
				out.end()
				if n := c.proofs.waiting(); n > 0 {
					out.say("%d answers were not proved yet: /verify and /save wait for that", n)
				}
				return c.verdict
			case err != nil:
				return err
			}
		case s := <-signals:
			if s != os.Interrupt {
				return errTerminated
			}
			out.say("\nctrl-D or /quit ends the conversation")
		}
	}
}

// take executes a line of the input. A returned error ends the conversation: errQuit after the last line. On a
// terminal most errors are printed instead and do not end it.
func (c *conversation) take(ctx context.Context, l line) error {
	if l.err != nil && !errors.Is(l.err, io.EOF) {
		return fmt.Errorf("standard input: %w", l.err)
	}
	err := c.turn(ctx, strings.TrimSpace(l.text))
	switch {
	case err == nil:
	case errors.Is(err, errQuit), !c.out.terminal, ctx.Err() != nil, errors.Is(err, errTerminated):
		return err
	default:
		c.out.failed(err)
	}
	if l.err != nil {
		return errQuit
	}
	return nil
}

var (
	errQuit       = errors.New("the conversation ends")
	errTerminated = errors.New("terminated; what was not saved is lost")
)

// line is a line of the input, or the error in its place; the last line may have both.
type line struct {
	text string
	err  error
}

// linesOf returns a channel of the lines of r.
func linesOf(r io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		b := bufio.NewReaderSize(r, longestTurn)
		for {
			text, err := b.ReadSlice('\n')
			lines <- line{string(text), err}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// turn executes a command, or has the model answer a text.
func (c *conversation) turn(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	if !strings.HasPrefix(text, "/") {
		return c.answer(ctx, text)
	}
	name, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "/help":
		c.out.tell(chatHelp)
	case "/quit":
		return errQuit
	case "/clear":
		c.messages = c.messages[:c.systems()]
		c.out.say("another conversation begins")
	case "/system":
		return c.setSystem(rest)
	case "/verify":
		return c.verify(ctx, rest)
	case "/save":
		return c.save(ctx, rest)
	default:
		return fmt.Errorf("%s is no command: /help lists them", name)
	}
	return nil
}

// systems returns how many messages precede the conversation: 1 if there is a system message, else 0.
func (c *conversation) systems() int {
	if len(c.messages) > 0 && c.messages[0].Role == "system" {
		return 1
	}
	return 0
}

// setSystem sets the system message. With an empty text it prints the message instead.
func (c *conversation) setSystem(text string) error {
	n := c.systems()
	if text == "" {
		said := "the model is told nothing before the conversation"
		if n > 0 {
			said = c.messages[0].Content
		}
		c.out.tell(said)
		return nil
	}
	messages := append([]chat.Message{{Role: "system", Content: text}}, c.messages[n:]...)
	if _, err := c.template.Render(append(messages, chat.Message{Role: "user", Content: "?"}), true); err != nil {
		return fmt.Errorf("/system: %w", err)
	}
	c.messages = messages
	return nil
}

// interruptible runs f. At an interrupt it sets asked and, if first returns true, cancels f's context. If a signal asks the program to
// end, it cancels the context too, and returns errTerminated.
func (c *conversation) interruptible(ctx context.Context, first func() bool, f func(ctx context.Context, asked *atomic.Bool) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var asked, terminated atomic.Bool
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case s := <-c.signals:
				asked.Store(true)
				if s != os.Interrupt {
					terminated.Store(true)
				}
				if first() || s != os.Interrupt {
					cancel()
				}
			case <-done:
				return
			}
		}
	}()
	err := f(ctx, &asked)
	close(done)
	<-stopped
	if terminated.Load() {
		return errTerminated
	}
	return err
}

// always is the argument `first` of interruptible for work that an interrupt may end at any time.
func always() bool { return true }

// openConversation opens and quantises the model. The first proof commits to it.
func openConversation(ctx context.Context, cfg *config.Config, ph *ui.Phases, out *chatPrinter) (_ *conversation, err error) {
	c := &conversation{out: out}
	defer func() {
		if err != nil && c.work != nil {
			c.end()
		}
	}()
	defer must.Catch(&err)
	collectWhileReading(cfg.Model)
	must.OK(c.readTexts(cfg.Model))
	key := *cfg
	// The key does not depend on the number of tokens, nor on how they are chosen.
	key.MaxTokens, key.Logits, key.Temperature = 0, config.LogitsGenerated, 0
	c.work = must.Get(open(ctx, &key, ph))
	c.cfg, c.opts = cfg, job.OptionsOf(cfg, ph, c.device)
	c.circuit = must.Get(c.job.Quantise(ctx, c.opts))
	if free := c.circuit.Free(); len(free) < 2 {
		return nil, fmt.Errorf("the model cannot have a key for texts of any length: %w", c.circuit.Report().OneBatch)
	}
	if cfg.System != "" {
		must.OKAs(c.setSystem(cfg.System), "--system")
	}
	c.proofs = newProofs(c.circuit, c.opts, out)
	return c, nil
}

// sampling returns the rule by which answers are drawn, or nil.
func (c *conversation) sampling() *provemodel.Sampling { return job.Sampling(c.cfg) }
