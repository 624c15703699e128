package config

import (
	"fmt"

	"github.com/spf13/pflag"
)

// A setting is what the flag of a field of Config needs besides its default.
type setting struct {
	name, usage string
	bare        string // value of the flag when it stands alone; empty: it needs one
	add         func(fs *pflag.FlagSet, d *Config, name, usage string)
}

// settings lists every setting once. Names are those of Config's tags.
var settings = []setting{
	text("model", "model: an ONNX or GGUF `file`, or a folder in the Hugging Face layout", func(c *Config) *string { return &c.Model }),
	{name: "input", usage: "input `file`, or name=file for one of several: JSON, .npy, .npz, .pb, .csv with a header, .png or .jpg; may be repeated (default: random, see --seed)",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.StringArray(name, d.Input, usage) }},
	boolean("each", "prove every sample that the inputs hold by itself: x.1.proof, x.2.proof and so on, for one key"),
	text("image", "`how` pictures, resized to the input, become the numbers that are proved: 0..1 (default), -1..1, 0..255, imagenet or mean/deviation; also bgr, crop", func(c *Config) *string { return &c.Image }),
	{name: "output", usage: "`name` of an output that is wanted: what only others need is not in the key; may be repeated (default: all)",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.StringArray(name, d.Output, usage) }},
	text("prompt", "`text` that is the input of a language model with a tokenizer", func(c *Config) *string { return &c.Prompt }),
	boolean("chat", "write the prompt as the beginning of a conversation, with the model's chat template"),
	{name: "calibration", usage: "`file` of sample inputs that set the ranges, or name=file; may be repeated (default: a bundled text for language models, or else the first input that the model is run on)",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.StringArray(name, d.Calibration, usage) }},
	text("ranges", "`file` of ranges that --ranges-out wrote, in place of calibration: the same key on any machine", func(c *Config) *string { return &c.Ranges }),
	text("ranges-out", "`file` that the calibrated ranges are written to", func(c *Config) *string { return &c.RangesOut }),
	text("proof", "proof `file` (default: <model>.proof here)", func(c *Config) *string { return &c.Proof }),
	text("vk", "verification key `file` (default: <model>.vk here)", func(c *Config) *string { return &c.VK }),
	boolean("certify", "write a certificate of the key as well: that the weights respect the static bounds"),
	text("cert", "certificate `file` (commit: <key>.cert, with --certify)", func(c *Config) *string { return &c.Cert }),
	{name: "dim", usage: "value of a symbolic dimension, as `name=value`; may be repeated",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.StringArray(name, d.Dim, usage) }},
	{name: "fix", usage: "input that is part of the model, such as a shape, as `name=file`; may be repeated",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.StringArray(name, d.Fix, usage) }},
	number("tokens", "the most tokens, a `number`, of a language model's texts that a key is for (default: its context, or 1024 if that is less)", func(c *Config) int { return c.Tokens }),
	text("tokens-file", "`file` of the tokens that are the input of a language model: JSON with \"input_ids\"", func(c *Config) *string { return &c.TokensFile }),
	number("max-tokens", "most `tokens` that a language model writes after the prompt, each the likeliest unless they are drawn (default: none)", func(c *Config) int { return c.MaxTokens }),
	{name: "temperature", usage: "`number` that logits are divided by when tokens are drawn: below 1 the likeliest are drawn more often (default: 1 with --seed, --top-k or --top-p; else nothing is drawn)",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.Float64(name, d.Temperature, usage) }},
	number("top-k", "draw tokens among this `number` of the likeliest (default: all)", func(c *Config) int { return c.TopK }),
	{name: "top-p", usage: "draw tokens among the fewest that have this `share` of the probability",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.Float64(name, d.TopP, usage) }},
	text("logits", "`where` the logits of a language model are proved: all, last, or generated (with --max-tokens)", func(c *Config) *string { return &c.Logits }),
	boolean("embedding", "the output is the vector that a sentence encoder (with modules.json) makes of the prompt"),
	text("text", "`text` that the model must have written", func(c *Config) *string { return &c.Text }),
	text("tokenizer", "`file` of the tokenizer, whose digest is in the key, to read and write text with", func(c *Config) *string { return &c.Tokenizer }),
	text("mode", "precision `mode`: auto (close to the float model), w8a8 or exact", func(c *Config) *string { return &c.Mode }),
	{name: "target-error", usage: "error of the outputs, a `fraction` of their range, that the formats of mode auto are chosen for: a larger one makes proofs cheaper",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.Float64(name, d.TargetError, usage) }},
	{name: "headroom", usage: "`factor` by which calibrated ranges are widened",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.Float64(name, d.Headroom, usage) }},
	{name: "max-error", usage: "refuse a run whose output is off by more than this `fraction` of its range (default: warn above 0.01)",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.Float64(name, d.MaxError, usage) }},
	text("soundness", "proximity `bound`: unique (decoding) or johnson (shorter proofs)", func(c *Config) *string { return &c.Soundness }),
	number("security-bits", "least `bits` of security of every round", func(c *Config) int { return c.SecurityBits }),
	number("grind-bits", "most `bits` of proof of work in a round", func(c *Config) int { return c.GrindBits }),
	number("min-bits", "least `bits` of security, proofs of work included, that a key must give to be accepted", func(c *Config) int { return c.MinBits }),
	text("commitment", "the model's commitment, in `hexadecimal`: no other key is accepted", func(c *Config) *string { return &c.Commitment }),
	bare("auto", text("gpu", "`when` to use a GPU: auto (when there is one), require (fail when there is none) or off", func(c *Config) *string { return &c.GPU })),
	number("gpu-threshold", "least `size` of a step that goes to the GPU (default: what pays; 0: every step)", func(c *Config) int { return c.GPUThreshold }),
	boolean("multi-gpu", "use every GPU: chunks are proved on them beside each other"),
	text("devices", "`numbers` of the GPUs to use, such as 0,2, as the command devices lists them (default: the first; all with --multi-gpu)", func(c *Config) *string { return &c.Devices }),
	number("gpu-lanes", "most chunks, a `number`, that are proved at once on a GPU", func(c *Config) int { return c.GPULanes }),
	number("cpu-lanes", "most chunks, a `number`, that are proved at once on the processor", func(c *Config) int { return c.CPULanes }),
	{name: "memory-gb", usage: "memory in `GB` that the process may have: what does not fit is in files of the cache's folder (default: what its container may have, if that has a limit)",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.Float64(name, d.MemoryGB, usage) }},
	{name: "chunk-budget-gb", usage: "memory in `GB` that a proof may take beside the weights: what does not fit is in files, and on a GPU made again (default: no bound, and chunks are proved at once as far as 8 GB allow)",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.Float64(name, d.ChunkBudgetGB, usage) }},
	boolean("track-memory", "prove chunks one after the other, and fail if one takes other memory on a GPU than was estimated"),
	number("threads", "processor `threads` to use (default: all)", func(c *Config) int { return c.Threads }),
	{name: "seed", usage: "seed `number` of the random input, or of the tokens that are drawn",
		add: func(fs *pflag.FlagSet, d *Config, name, usage string) { fs.Int64(name, d.Seed, usage) }},
	boolean("no-cache", "neither read nor write cached model commitments"),
	text("cache-dir", "`folder` of cached model commitments and GPU code (default: the user's cache folder)", func(c *Config) *string { return &c.CacheDir }),
	boolean("no-resume", "begin a long proof anew instead of going on where one that was interrupted had stopped"),
	boolean("no-self-check", "do not verify the own proof before it is written"),
	boolean("quiet", "print no progress"),
	text("report", "HTML `file` for a report: accuracy by layer, times, costs, bits of security", func(c *Config) *string { return &c.Report }),
	text("html", "HTML `file` for the description of a model, with its accuracy by layer", func(c *Config) *string { return &c.HTML }),
	boolean("json", "print the result as JSON"),
	boolean("progress-json", "print progress and warnings on standard error as JSON, one object a line"),
}

func text(name, usage string, field func(*Config) *string) setting {
	return setting{name: name, usage: usage, add: func(fs *pflag.FlagSet, d *Config, name, usage string) {
		fs.String(name, *field(d), usage)
	}}
}

func number(name, usage string, field func(*Config) int) setting {
	return setting{name: name, usage: usage, add: func(fs *pflag.FlagSet, d *Config, name, usage string) {
		fs.Int(name, field(d), usage)
	}}
}

// boolean settings are all false by default.
func boolean(name, usage string) setting {
	return setting{name: name, usage: usage, add: func(fs *pflag.FlagSet, _ *Config, name, usage string) {
		fs.Bool(name, false, usage)
	}}
}

func bare(value string, s setting) setting {
	s.bare = value
	return s
}

// ours marks the flags of settings.
const ours = "setting"

// AddFlags defines the flags of the named settings, and --config. It panics if
// a name is not a setting's.
func AddFlags(fs *pflag.FlagSet, names ...string) {
	d := Default()
	for _, name := range names {
		s := find(name)
		if s == nil {
			panic(fmt.Sprintf("config: no setting %q", name))
		}
		s.add(fs, &d, s.name, s.usage)
		fs.Lookup(name).Annotations = map[string][]string{ours: {}}
		if s.bare != "" {
			fs.Lookup(name).NoOptDefVal = s.bare
		}
	}
	if fs.Lookup("config") == nil {
		fs.String("config", "", "settings `file` (default: prove-model.yaml here, if there is one)")
	}
}

func find(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}
