// Package config holds the settings of the prove-model command, each with its
// type, its range and its default. A setting comes from, in this order, a
// command-line flag, the environment variable PROVE_MODEL_NAME, the file
// prove-model.yaml, and its default; all four use one name.
package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Config is a complete and valid set of settings.
type Config struct {
	Model       string   `mapstructure:"model"`        // ONNX or GGUF file, or folder
	Input       []string `mapstructure:"input"`        // files, or name=file; none: random
	Each        bool     `mapstructure:"each"`         // a proof for each sample of the inputs
	Image       string   `mapstructure:"image"`        // how pictures among the inputs become numbers
	Output      []string `mapstructure:"output"`       // names of the outputs that are wanted; none: all
	Prompt      string   `mapstructure:"prompt"`       // text that is the input of a language model
	Chat        bool     `mapstructure:"chat"`         // the prompt begins a conversation, as the model's template writes it
	Calibration []string `mapstructure:"calibration"`  // files of samples in the same formats; none: the input
	Ranges      string   `mapstructure:"ranges"`       // file of ranges, in place of samples
	RangesOut   string   `mapstructure:"ranges-out"`   // file that the ranges are written to
	Proof       string   `mapstructure:"proof"`        // empty: <model>.proof in the current folder
	VK          string   `mapstructure:"vk"`           // empty: <model>.vk in the current folder
	Dim         []string `mapstructure:"dim"`          // name=value for symbolic dimensions; see Dims
	Fix         []string `mapstructure:"fix"`          // name=file of inputs that are part of the model; see Fixed
	Tokens      int      `mapstructure:"tokens"`       // the most that a language model's key is for; 0: its context, or 1024
	TokensFile  string   `mapstructure:"tokens-file"`  // JSON with the ids of the input
	MaxTokens   int      `mapstructure:"max-tokens"`   // that a language model writes after the prompt; 0: none
	Temperature float64  `mapstructure:"temperature"`  // of drawn tokens; 0: each is the likeliest
	TopK        int      `mapstructure:"top-k"`        // draw among so many; 0: all
	TopP        float64  `mapstructure:"top-p"`        // draw among the fewest with this share
	Logits      string   `mapstructure:"logits"`       // LogitsAll, LogitsLast or LogitsGenerated; empty: what fits
	Embedding   bool     `mapstructure:"embedding"`    // the output is that of a sentence encoder
	Text        string   `mapstructure:"text"`         // that verify wants the model to have written
	Tokenizer   string   `mapstructure:"tokenizer"`    // file that verify reads and writes text with
	Mode        string   `mapstructure:"mode"`         // ModeAuto, ModeW8A8 or ModeExact
	TargetError float64  `mapstructure:"target-error"` // error of the outputs that formats are chosen for, in (0, 1]
	Headroom    float64  `mapstructure:"headroom"`     // calibrated ranges are widened by this factor, in [1, 1024]

	Report string `mapstructure:"report"` // HTML file that proving writes; empty: none
	HTML   string `mapstructure:"html"`   // HTML file that inspect writes; empty: none

	MaxError float64 `mapstructure:"max-error"` // of an output's range, in [0, 1e6]; 0: any, with a warning above 1 %

	Soundness    string `mapstructure:"soundness"`     // SoundnessUnique or SoundnessJohnson
	SecurityBits int    `mapstructure:"security-bits"` // of every round, in [20, 110]
	GrindBits    int    `mapstructure:"grind-bits"`    // most grinding of a round, in [0, 24]

	MinBits    int    `mapstructure:"min-bits"`   // least security that verify accepts, in [1, 128]
	Commitment string `mapstructure:"commitment"` // that verify wants of the key, hexadecimal; empty: any
	Cert       string `mapstructure:"cert"`       // file of a certificate of the key
	Certify    bool   `mapstructure:"certify"`    // commit makes one

	GPU           string  `mapstructure:"gpu"`           // GPUOff, GPUAuto or GPURequire
	GPUThreshold  int     `mapstructure:"gpu-threshold"` // least size of a step that goes to the GPU; negative: what pays
	MultiGPU      bool    `mapstructure:"multi-gpu"`
	Devices       string  `mapstructure:"devices"`         // numbers of GPUs, with commas; empty: the first, or all with MultiGPU
	GPULanes      int     `mapstructure:"gpu-lanes"`       // chunks at once on a GPU, in [1, 64]
	CPULanes      int     `mapstructure:"cpu-lanes"`       // chunks at once on the processor, in [1, 64]
	ChunkBudgetGB float64 `mapstructure:"chunk-budget-gb"` // memory for proving beside the weights, on the processor and on each GPU, in [0.01, 4096]; 0: as little as pays; no byte depends on it
	MemoryGB      float64 `mapstructure:"memory-gb"`       // memory of the process, in [0.1, 65536]; 0: the container's, if it has a limit
	TrackMemory   bool    `mapstructure:"track-memory"`
	Threads       int     `mapstructure:"threads"` // 0: all cores

	Seed        int64  `mapstructure:"seed"` // of the random input
	NoCache     bool   `mapstructure:"no-cache"`
	CacheDir    string `mapstructure:"cache-dir"` // empty: the user's cache folder
	NoSelfCheck bool   `mapstructure:"no-self-check"`
	NoResume    bool   `mapstructure:"no-resume"`
	Quiet       bool   `mapstructure:"quiet"`
	JSON        bool   `mapstructure:"json"`
	// ProgressJSON has progress and warnings on standard error as JSON, for programs.
	ProgressJSON bool `mapstructure:"progress-json"`
}

// Values of Mode: the precision of weights and activations.
const (
	ModeAuto  = "auto"  // what brings the outputs close to the float model's
	ModeW8A8  = "w8a8"  // eight bits each
	ModeExact = "exact" // sixteen bits wherever that is possible
)

// Values of Logits: where a language model's logits are the output.
const (
	LogitsAll       = "all"       // after every token
	LogitsLast      = "last"      // after the last one
	LogitsGenerated = "generated" // where the model chose what it wrote
)

// Values of Soundness: the regime of the proximity bounds.
const (
	SoundnessUnique  = "unique"  // unique decoding everywhere
	SoundnessJohnson = "johnson" // Johnson bound in the tail rounds
)

// Values of GPU.
const (
	GPUOff     = "off"
	GPUAuto    = "auto"    // use one when there is one
	GPURequire = "require" // fail when there is none
)

// Default returns the settings that hold when nothing else is said.
func Default() Config {
	return Config{
		Mode:         ModeAuto,
		TargetError:  0.001,
		Headroom:     2,
		Soundness:    SoundnessUnique,
		SecurityBits: 100,
		GrindBits:    16,
		MinBits:      100,
		TopP:         1,
		GPU:          GPUOff,
		GPUThreshold: -1,
		GPULanes:     8,
		CPULanes:     1,
		Seed:         1,
	}
}

// Dims returns the values of symbolic dimensions by name.
func (c *Config) Dims() (map[string]int, error) {
	dims := make(map[string]int, len(c.Dim))
	for _, s := range c.Dim {
		name, value, ok := strings.Cut(s, "=")
		n, err := strconv.Atoi(value)
		if !ok || name == "" || err != nil || n < 1 {
			return nil, fmt.Errorf("--dim %q: want name=value with a positive integer, such as --dim batch=1", s)
		}
		if old, ok := dims[name]; ok && old != n {
			return nil, fmt.Errorf("--dim %s is given twice, as %d and %d", name, old, n)
		}
		dims[name] = n
	}
	return dims, nil
}

// DeviceNumbers returns the GPUs that Devices names, nil for none.
func (c *Config) DeviceNumbers() ([]int, error) {
	if c.Devices == "" {
		return nil, nil
	}
	var numbers []int
	for _, s := range strings.Split(c.Devices, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 {
			return nil, fmt.Errorf("--devices %q: want numbers of GPUs as the command devices lists them, such as 0,2", c.Devices)
		}
		if slices.Contains(numbers, n) {
			return nil, fmt.Errorf("--devices %q: GPU %d is named twice", c.Devices, n)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// Fixed returns the files of the inputs that are part of the model, by name.
func (c *Config) Fixed() (map[string]string, error) {
	files := make(map[string]string, len(c.Fix))
	for _, s := range c.Fix {
		name, file, ok := strings.Cut(s, "=")
		if !ok || name == "" || file == "" {
			return nil, fmt.Errorf("--fix %q: want name=file, such as --fix shape=shape.npy", s)
		}
		if _, ok := files[name]; ok {
			return nil, fmt.Errorf("--fix %s is given twice", name)
		}
		files[name] = file
	}
	return files, nil
}

// validate reports every setting that is out of its range.
func (c *Config) validate() error {
	var errs []error
	oneOf := func(name, value string, allowed ...string) {
		for _, a := range allowed {
			if value == a {
				return
			}
		}
		errs = append(errs, fmt.Errorf("--%s %q: want %s", name, value, strings.Join(allowed, " or ")))
	}
	within := func(name string, value, lo, hi float64) {
		// The negated form also refuses NaN.
		if !(value >= lo && value <= hi) {
			errs = append(errs, fmt.Errorf("--%s %v: want a number from %v to %v", name, value, lo, hi))
		}
	}
	oneOf("mode", c.Mode, ModeAuto, ModeW8A8, ModeExact)
	oneOf("soundness", c.Soundness, SoundnessUnique, SoundnessJohnson)
	oneOf("gpu", c.GPU, GPUAuto, GPURequire, GPUOff)
	within("tokens", float64(c.Tokens), 0, 1<<24)
	within("max-tokens", float64(c.MaxTokens), 0, 1<<20)
	if c.Temperature != 0 {
		within("temperature", c.Temperature, 0.01, 100)
	}
	within("top-k", float64(c.TopK), 0, 1<<20)
	within("top-p", c.TopP, 0.000001, 1)
	if c.Logits != "" {
		oneOf("logits", c.Logits, LogitsAll, LogitsLast, LogitsGenerated)
	}
	within("gpu-threshold", float64(c.GPUThreshold), -1, math.MaxInt32)
	within("target-error", c.TargetError, 1e-6, 1)
	within("headroom", c.Headroom, 1, 1024)
	within("max-error", c.MaxError, 0, 1e6)
	within("security-bits", float64(c.SecurityBits), 20, 110)
	within("grind-bits", float64(c.GrindBits), 0, 24)
	within("min-bits", float64(c.MinBits), 1, 128)
	if c.ChunkBudgetGB != 0 {
		within("chunk-budget-gb", c.ChunkBudgetGB, 0.01, 4096)
	}
	if c.MemoryGB != 0 {
		within("memory-gb", c.MemoryGB, 0.1, 1<<16)
	}
	within("gpu-lanes", float64(c.GPULanes), 1, 64)
	within("cpu-lanes", float64(c.CPULanes), 1, 64)
	if _, err := c.DeviceNumbers(); err != nil {
		errs = append(errs, err)
	}
	within("threads", float64(c.Threads), 0, math.MaxUint16)
	if _, err := c.Dims(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.Fixed(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
