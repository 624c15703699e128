// Package config holds the settings of the prove-model command, each with its type, its
// range and its default. The value of a setting is taken from the first of these that
// has one: a command-line flag, an environment variable PROVE_MODEL_NAME, the file
// prove-model.yaml, the default. A setting has the same name in all four.
package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prove-model/prove-model/internal/seq"
)

// Config is a complete and valid set of settings. The tags of a field are the whole description of its setting: flags,
// environment variables, keys of the settings file, help and validation are made from them.
//
//   - mapstructure: the name
//   - group: the section of the help (groups)
//   - range, oneof: the numbers or words that are allowed; unset: zero, or no word, is allowed too
//   - file: "read" if the value names files that commands read, "write" for files that commands write, "made" for files that the
//     commands which prove and commit write and other commands read (Reads, CanWrite)
//   - bare: the value of the flag when it is given without one
//   - usage: the help, with the name of the value in braces
type Config struct {
	// ONNX or GGUF file, or folder
	Model string `mapstructure:"model" file:"read" group:"prove" usage:"model: an ONNX or GGUF {file}, or a folder in the Hugging Face layout"`
	// files, or name=file; none: a random input
	Input []string `mapstructure:"input" file:"read" group:"prove" usage:"input {file}, or name=file for one of several: JSON, .npy, .npz, .pb, .csv with a header, .png or .jpg; may be repeated (default: random, see --seed)"`
	// whether every sample of the inputs gets a proof of its own
	Each bool `mapstructure:"each" group:"prove" usage:"prove every sample that the inputs hold by itself: x.1.proof, x.2.proof and so on, for one key"`
	// how pictures among the inputs become numbers
	Image string `mapstructure:"image" group:"prove" usage:"{how} pictures, resized to the input, become the numbers that are proved: 0..1 (default), -1..1, 0..255, imagenet or mean/deviation; also bgr, crop"`
	// names of the outputs that are wanted; none: all
	Output []string `mapstructure:"output" group:"prove" usage:"{name} of an output that is wanted: what only others need is not in the key; may be repeated (default: all)"`
	// name=argmax or name=top-K: outputs of which a proof states only which entries are the greatest; see Reveals
	Reveal []string `mapstructure:"reveal" group:"prove" usage:"output of which the proof states where the greatest entries are, in place of the output, as {name=argmax} or name=top-5; may be repeated"`
	// folder of a low-rank adapter (LoRA) to the model
	Adapter string `mapstructure:"adapter" file:"read" group:"prove" usage:"low-rank adapter (LoRA) to a language model in the Hugging Face layout: a {folder} that PEFT wrote; keys of all adapters share the root of the model's weights"`
	// key of the model without its adapter; verify also takes the root of that model's weights
	Base string `mapstructure:"base" file:"read" group:"prove" usage:"key {file} of the model without the adapter: weights are quantised as it says, so that keys have its root (default: with the same samples)"`
	// text that is the input of a language model
	Prompt string `mapstructure:"prompt" group:"prove" usage:"{text} that is the input of a language model with a tokenizer"`
	// WAV file that a speech model hears
	Audio string `mapstructure:"audio" file:"read" group:"prove" usage:"WAV {file} that a model of speech listens to: it writes what it hears, with --max-tokens"`
	// language spoken in the audio, as the model's files name it
	Language string `mapstructure:"language" group:"prove" usage:"{language} that is spoken in the audio, such as en (default: what the model's files say)"`
	// file of JSON lines with prompts; one proof is about all of them
	Prompts string `mapstructure:"prompts" file:"read" group:"prove" usage:"{file} of prompts that one proof is of, each by itself: on each line JSON with \"prompt\", a text, or \"input_ids\", its tokens"`
	// folder of a text that is proved in segments
	Chain string `mapstructure:"chain" group:"prove" usage:"{folder} of a text that is proved in segments: what the prompt and --max-tokens add is proved behind what the folder has"`
	// most tokens of a segment; 0: the new tokens are one segment
	SegmentTokens int `mapstructure:"segment-tokens" group:"prove" range:"1..16777216" unset:"ok" usage:"with --chain the most tokens, a {number}, of a segment: what is new is cut into as many as it takes (default: one)"`
	// digest of the statement of a segment that is known to be proved, with all before it
	From string `mapstructure:"from" group:"prove" usage:"with --chain the digest, in {hexadecimal}, of the statement of a segment that is known to hold with all before it: those behind it are verified"`
	// whether the prompt begins a conversation, written with the model's chat template
	Chat bool `mapstructure:"chat" group:"prove" usage:"write the prompt as the beginning of a conversation, with the model's chat template"`
	// text that a model is told before a conversation
	System string `mapstructure:"system" group:"prove" usage:"{text} that the model is told before the conversation"`
	// texts that end an answer
	Stop []string `mapstructure:"stop" group:"prove" usage:"{text} that ends an answer, and is not in it; may be repeated"`
	// files of samples, in the formats of Input; none: the input
	Calibration []string `mapstructure:"calibration" file:"read" group:"accuracy" usage:"{file} of sample inputs that set the ranges, or name=file; may be repeated (default: a bundled text for language models, or else the first input that the model is run on)"`
	// file of ranges, in place of samples
	Ranges string `mapstructure:"ranges" file:"read" group:"accuracy" usage:"{file} of ranges that --ranges-out wrote, in place of calibration: the same key on any machine"`
	// file that the ranges are written to
	RangesOut string `mapstructure:"ranges-out" file:"write" group:"files" usage:"{file} that the calibrated ranges are written to"`
	// empty: <model>.proof in the current folder
	Proof string `mapstructure:"proof" file:"made" group:"files" usage:"proof {file} (default: <model>.proof here)"`
	// what is hidden; see HiddenOf. "": nothing, unless the key that is proved under hides weights
	Hide string `mapstructure:"hide" group:"prove" usage:"{what} is hidden, with commas (docs/hiding.md): weights, by a key and its proofs, which is said when committing (the secret is in <key>.secret then, and proving takes it from the key); input and output, by a proof, all of them or input:NAME, output:NAME"`
	// number of proofs that a key that hides weights, or a commitment to an input, is good for; 0: 50
	Proofs int `mapstructure:"proofs" group:"prove" range:"1..10000000" unset:"ok" usage:"{number} of proofs that a key with --hide weights is good for (default: 50)"`
	// K/N: share K of N of the rest of the budget, or 1 for all; see ShareOf
	Share string `mapstructure:"share" group:"prove" usage:"which {part} of a key's budget is used here, number K of N such as 2/4, or 1 for all: where the ledger was used before, to divide it; elsewhere, and after the machine was started anew, to say that it is the latest copy with that number"`
	// empty: <key>.secret
	Secret string `mapstructure:"secret" file:"read" group:"files" usage:"{file} of the secret of a key that hides weights (default: <key>.secret)"`
	// [NAME=]FILE of a commitment to an input; see InputOf
	InputCommitment string `mapstructure:"input-commitment" file:"read" group:"prove" usage:"{file} of a commitment to an input (commit-input), or name=file for one of several: a proof hides this input and is of what was committed to, by the secret beside the file; verify asks for a proof of that, also by the commitment's 64 digits"`
	// key that hides weights, in whose place commit makes another key of the same weights; empty: none
	Renew string `mapstructure:"renew" file:"read" group:"files" usage:"{file} of a key that hides weights: commit makes another key of the same weights, and a link that says so; check-key checks the link"`
	// empty: <key>.link
	Link string `mapstructure:"link" file:"made" group:"files" usage:"{file} of the link between the key of --renew and the new one (default: <key>.link)"`
	// empty: <model>.vk in the current folder
	VK string `mapstructure:"vk" file:"made" group:"files" usage:"verification key {file} (default: <model>.vk here)"`
	// name=value of symbolic dimensions; see Dims
	Dim []string `mapstructure:"dim" group:"prove" usage:"value of a symbolic dimension, as {name=value}; may be repeated"`
	// name=file of inputs that become constants of the model; see Fixed
	Fix []string `mapstructure:"fix" file:"read" group:"prove" usage:"input that is part of the model, such as a shape, as {name=file}; may be repeated"`
	// most tokens of a text that a language model's key is for; 0: the model's context, or 1024 if that is less
	Tokens int `mapstructure:"tokens" group:"prove" range:"0..16777216" usage:"the most tokens, a {number}, of a language model's texts that a key is for (default: its context, or 1024 if that is less)"`
	// JSON file with the tokens that are the input
	TokensFile string `mapstructure:"tokens-file" file:"read" group:"prove" usage:"{file} of the tokens that are the input of a language model: JSON with \"input_ids\""`
	// most tokens that a language model writes after the prompt; 0: none
	MaxTokens int `mapstructure:"max-tokens" group:"prove" range:"0..1048576" usage:"most {tokens} that a language model writes after the prompt, each the likeliest unless they are drawn (default: none)"`
	// temperature of drawn tokens; 0: each token is the likeliest
	Temperature float64 `mapstructure:"temperature" group:"prove" range:"0.01..100" unset:"ok" usage:"{number} that logits are divided by when tokens are drawn: below 1 the likeliest are drawn more often (default: 1 with --seed, --top-k or --top-p; else nothing is drawn)"`
	// tokens are drawn among so many of the likeliest; 0: all
	TopK int `mapstructure:"top-k" group:"prove" range:"0..1048576" usage:"draw tokens among this {number} of the likeliest (default: all)"`
	// tokens are drawn among the fewest that have this share of the probability
	TopP float64 `mapstructure:"top-p" group:"prove" range:"0.000001..1" usage:"draw tokens among the fewest that have this {share} of the probability"`
	// LogitsAll, LogitsLast or LogitsGenerated; empty: what fits
	Logits string `mapstructure:"logits" group:"prove" oneof:"all last generated" unset:"ok" usage:"{where} the logits of a language model are proved: all, last, or generated: with --max-tokens, where else the tokens alone are stated, and to commit to a key for texts that the model writes"`
	// whether the output is that of a sentence encoder
	Embedding bool `mapstructure:"embedding" group:"prove" usage:"the output is the vector that a sentence encoder (with modules.json) makes of the prompt"`
	// text that verify expects the model to have written
	Text string `mapstructure:"text" group:"prove" usage:"{text} that the model must have written"`
	// tokenizer file with which verify reads and writes text
	Tokenizer string `mapstructure:"tokenizer" file:"read" group:"files" usage:"{file} of the tokenizer, whose digest is in the key, to read and write text with"`
	// ModeAuto, ModeW8A8 or ModeExact
	Mode string `mapstructure:"mode" group:"accuracy" oneof:"auto w8a8 exact" usage:"precision {mode}: auto (close to the float model), w8a8 or exact"`
	// error of the outputs that formats are chosen for, a fraction of their range in (0, 1]
	TargetError float64 `mapstructure:"target-error" group:"accuracy" range:"1e-6..1" usage:"error of the outputs, a {fraction} of their range, that the formats of mode auto are chosen for: a larger one makes proofs cheaper"`
	// factor by which calibrated ranges are widened, in [1, 1024]
	Headroom float64 `mapstructure:"headroom" group:"accuracy" range:"1..1024" usage:"{factor} by which calibrated ranges are widened"`

	// HTML file that proving writes; empty: none
	Report string `mapstructure:"report" file:"write" group:"files" usage:"HTML {file} for a report: accuracy by layer, times, costs, bits of security"`
	// HTML file that inspect writes; empty: none
	HTML string `mapstructure:"html" file:"write" group:"files" usage:"HTML {file} for the description of a model, with its accuracy by layer"`

	// "onnxruntime" has ONNX Runtime compute the float outputs; empty: this program computes them
	Check string `mapstructure:"check" group:"accuracy" oneof:"onnxruntime" unset:"ok" usage:"{program} whose outputs a run is held against: onnxruntime, which Python must have (default: this one, which computes the float model itself)"`
	// largest error that a run may have to be proved, a fraction of the output's range in [0, 1e6]; 0: any, with a warning
	// about a poor copy
	MaxError float64 `mapstructure:"max-error" group:"accuracy" range:"0..1e6" usage:"refuse a run whose output is off by more than this {fraction} of its range (default: warn of a poor copy)"`

	// SoundnessUnique or SoundnessJohnson
	Soundness string `mapstructure:"soundness" group:"experts" oneof:"unique johnson" usage:"proximity {bound}: unique (decoding) or johnson (shorter proofs)"`
	// HashBLAKE3 or HashPoseidon2
	Hash string `mapstructure:"hash" group:"experts" oneof:"blake3 poseidon2" usage:"{function} that hashes commitments and transcripts: blake3, or poseidon2, which takes ten times as long and makes small proofs some 4 % smaller"`
	// least security of every round, in bits, in [20, 110]
	SecurityBits int `mapstructure:"security-bits" group:"experts" range:"20..110" usage:"least {bits} of security of every round"`
	// most bits of proof of work in a round, in [0, 24]
	GrindBits int `mapstructure:"grind-bits" group:"experts" range:"0..24" usage:"most {bits} of proof of work in a round"`

	// least security that verify accepts, in bits, in [1, 128]
	MinBits int `mapstructure:"min-bits" group:"experts" range:"1..128" usage:"least {bits} of security, proofs of work included, that a key must give to be accepted"`
	// commitment that verify expects of the key, hexadecimal; empty: any
	Commitment string `mapstructure:"commitment" group:"prove" usage:"the model's commitment, in {hexadecimal}: no other key is accepted"`
	// file of the vocabulary of a model that takes strings or names classes
	Vocabulary string `mapstructure:"vocabulary" file:"made" group:"files" usage:"{file} of the vocabulary, which maps the strings that a model takes and names classes (<key>.vocabulary)"`
	// file of a certificate of the key
	Cert string `mapstructure:"cert" file:"made" group:"files" usage:"certificate {file} (commit: <key>.cert, with --certify)"`
	// whether commit makes a certificate
	Certify bool `mapstructure:"certify" group:"files" usage:"write a certificate of the key as well: that the weights respect the static bounds"`

	// GPUOff, GPUAuto or GPURequire
	GPU string `mapstructure:"gpu" group:"machine" oneof:"auto require off" bare:"auto" usage:"{when} to use a GPU: auto (when there is one), require (fail when there is none) or off"`
	// least size of a step that goes to the GPU, in entries; negative: the program chooses
	GPUThreshold int  `mapstructure:"gpu-threshold" group:"experts" range:"-1..2147483647" usage:"least {size} of a step that goes to the GPU (default: what pays; 0: every step)"`
	MultiGPU     bool `mapstructure:"multi-gpu" group:"machine" usage:"use every GPU: chunks are proved on them beside each other"`
	// numbers of GPUs, separated by commas; empty: the first, or all with MultiGPU
	Devices string `mapstructure:"devices" group:"machine" usage:"{numbers} of the GPUs to use, such as 0,2, as the command devices lists them (default: the first; all with --multi-gpu)"`
	// chunks that are proved at once on a GPU, in [1, 64]
	GPUStreams int `mapstructure:"gpu-streams" group:"experts" range:"1..64" usage:"most chunks, a {number}, that are proved at once on a GPU"`
	// chunks that are proved at once on the processor, in [1, 64]
	CPUWorkers int `mapstructure:"cpu-workers" group:"experts" range:"1..64" usage:"most chunks, a {number}, that are proved at once on the processor"`
	// memory in GB for proving beside the weights, on the processor and on each GPU, in [0.01, 4096]; 0: no bound, and 8
	// GB for chunks that are proved at once. It changes no byte of a proof.
	ChunkBudgetGB float64 `mapstructure:"chunk-budget-gb" group:"experts" range:"0.01..4096" unset:"ok" usage:"memory in {GB} that a proof may take beside the weights: what does not fit is in files, and on a GPU recomputed (default: no bound, and chunks are proved at once as far as 8 GB allow)"`
	// memory in GB of the process, in [0.1, 65536]; 0: what its container may have, if that is limited
	MemoryGB float64 `mapstructure:"memory-gb" group:"machine" range:"0.1..65536" unset:"ok" usage:"memory in {GB} that the process may have: what does not fit is in files of the cache's folder (default: what its container may have, if that has a limit)"`
	// processor threads; 0: as many as there are cores
	Threads int `mapstructure:"threads" group:"machine" range:"0..65535" usage:"processor {threads} to use (default: all)"`

	// which text of a proof of several is looked at, from 1 on; 0: all
	TextID int `mapstructure:"text-id" group:"prove" range:"1..1024" unset:"ok" usage:"{number} of the one text that is looked at, of those that the proof is of (default: all)"`
	// file of a server's answer with its receipt, or of the receipt alone
	Receipt string `mapstructure:"receipt" file:"read" group:"prove" usage:"{file} of a server's answer, or of its receipt, that the proof must be about"`
	// file of the request that was answered
	Request string `mapstructure:"request" file:"read" group:"prove" usage:"{file} of the request that was answered, its very bytes"`
	// Ed25519 public key of the server that signed the receipt, in base64
	ReceiptKey string `mapstructure:"receipt-key" group:"prove" usage:"{base64} of the public key of the server that must have signed the receipt"`
	// address that a server listens on
	Listen string `mapstructure:"listen" group:"server" usage:"{address} and port to listen on; port 0 is any that is free"`
	// folder of a server's store
	Data string `mapstructure:"data" group:"server" usage:"{folder} of what was answered, of proofs, and of the key that receipts are signed with"`
	// file of API keys
	Keys string `mapstructure:"keys" file:"read" group:"server" usage:"{file} of API keys, a name and a key on each line; requests must have one (default: everybody may ask)"`
	// which answers a server proves: ProveAll, ProveRequested, or a share of them from 0 to 1
	Prove string `mapstructure:"prove" group:"server" usage:"{which} answers are proved: all, requested (those for which a request asks, then or later), or a share of them such as 0.1, by coins that are committed to"`
	// certificate and private key for TLS; both or neither
	TLSCert string `mapstructure:"tls-cert" file:"read" group:"server" usage:"PEM {file} of the certificate with which HTTPS is spoken"`
	TLSKey  string `mapstructure:"tls-key" file:"read" group:"server" usage:"PEM {file} of its private key"`
	// greatest size of a request in MB, in [0.001, 1024]
	MaxBodyMB float64 `mapstructure:"max-body-mb" group:"server" range:"0.001..1024" usage:"most {MB} of a request"`
	// most jobs that may wait for their proofs, in [1, 1e6]
	MaxQueue int `mapstructure:"max-queue" group:"server" range:"1..1000000" usage:"most proofs, a {number}, that may wait: more answers are refused until some are made"`
	// most texts of one proof, in [0, 1024]; 0: 1 for a server, 16 for a worker
	Batch int `mapstructure:"batch" group:"server" range:"0..1024" usage:"most answers, a {number}, that wait and are proved in one proof, as far as memory allows; in it all of them can be read (default: 1, each by itself)"`
	// whether texts of different API keys may be proved together
	BatchAcrossKeys bool `mapstructure:"batch-across-keys" group:"server" usage:"with --batch: prove answers for different API keys in one proof, so that they can read each other's"`
	// most requests a minute of each API key; 0: any number
	Rate float64 `mapstructure:"rate" group:"server" range:"0.01..1000000" unset:"ok" usage:"most requests, a {number}, a minute of each API key, or of each address where there are no keys (default: any number)"`
	// answers that are computed at once; 0: as many as there are threads
	Parallel int `mapstructure:"parallel" group:"server" range:"0..1024" usage:"most answers, a {number}, that are computed at once (default: as many as there are threads)"`
	// proofs that this process makes at once
	Workers int `mapstructure:"workers" group:"server" range:"0..64" usage:"{number} of proofs that this process makes at once; 0 leaves them to others of the cluster"`
	// URL to which records of proofs are posted
	Webhook string `mapstructure:"webhook" group:"server" usage:"{URL} to which the record of each proof is posted when it is done"`
	// hours for which jobs and proofs are kept; 0: for ever
	KeepHours float64 `mapstructure:"keep-hours" group:"server" range:"0.01..1000000" unset:"ok" usage:"{hours} for which jobs and proofs are kept (default: always)"`
	// URLs of NATS servers, separated by commas; empty: a store in this process
	Cluster string `mapstructure:"cluster" group:"server" usage:"{URL} of the NATS servers with JetStream that several processes share, nats:// or tls://, with commas (default: a store of this process's own)"`
	// credentials and certificates for the cluster
	ClusterCreds string `mapstructure:"cluster-creds" file:"read" group:"server" usage:"{file} of credentials for the cluster, as nsc writes it"`
	ClusterNKey  string `mapstructure:"cluster-nkey" file:"read" group:"server" usage:"{file} of the seed of the NKey that the cluster knows this process by"`
	ClusterCA    string `mapstructure:"cluster-ca" file:"read" group:"server" usage:"PEM {file} of certificates that the cluster's are signed with (default: those of the system)"`
	ClusterCert  string `mapstructure:"cluster-cert" file:"read" group:"server" usage:"PEM {file} of the certificate that the cluster knows this process by"`
	ClusterKey   string `mapstructure:"cluster-key" file:"read" group:"server" usage:"PEM {file} of its private key"`
	// URL of an S3-compatible store for jobs and proofs; empty: they are in JetStream
	Bucket string `mapstructure:"bucket" group:"server" usage:"{URL} https://HOST/BUCKET[/PREFIX] of an S3-compatible store for jobs and proofs; credentials are those of the environment (default: they lie in JetStream)"`
	// URL of an OpenTelemetry collector; empty: none
	Traces string `mapstructure:"traces" group:"server" usage:"{URL} of an OpenTelemetry collector that is told by OTLP over HTTP how requests and proofs go, such as http://HOST:4318"`
	// number of the cluster's servers on which everything is stored
	Replicas int `mapstructure:"replicas" group:"server" range:"1..5" usage:"{number} of servers of the cluster on which everything is stored"`

	// seed of the random input, or of drawn tokens
	Seed    int64 `mapstructure:"seed" group:"prove" usage:"seed {number} of the random input, or of the tokens that are drawn"`
	NoCache bool  `mapstructure:"no-cache" group:"files" usage:"neither read nor write cached model commitments"`
	// folder of the cache; empty: the usual one in the user's cache folder
	CacheDir    string `mapstructure:"cache-dir" group:"files" usage:"{folder} of cached model commitments and GPU code (default: the user's cache folder)"`
	NoSelfCheck bool   `mapstructure:"no-self-check" group:"experts" usage:"do not verify the own proof before it is written"`
	NoResume    bool   `mapstructure:"no-resume" group:"experts" usage:"begin a long proof anew instead of going on where one that was interrupted had stopped"`
	// Force lets outputs replace files of other kinds.
	Force bool `mapstructure:"force" group:"files" usage:"replace files, too, that prove-model has not written; never what the command reads"`
	Quiet bool `mapstructure:"quiet" group:"files" usage:"print no progress"`
	JSON  bool `mapstructure:"json" group:"files" usage:"print the result as JSON"`
	// ProgressJSON writes progress and warnings to standard error as JSON, for programs.
	ProgressJSON bool `mapstructure:"progress-json" group:"files" usage:"print progress and warnings on standard error as JSON, one object a line"`
}

// Values of Mode: the precision of weights and activations.
const (
	ModeAuto  = "auto"  // as many bits as bring the outputs close to the float model's
	ModeW8A8  = "w8a8"  // eight bits for weights and activations
	ModeExact = "exact" // sixteen bits wherever that is possible
)

// Values of Logits: where a language model's logits are the output.
const (
	LogitsAll       = "all"       // at every token
	LogitsLast      = "last"      // at the last token
	LogitsGenerated = "generated" // where the model chooses the tokens that it writes
)

// Values of Soundness: the regime of the proximity bounds.
const (
	SoundnessUnique  = "unique"  // unique decoding everywhere
	SoundnessJohnson = "johnson" // Johnson bound in the tail rounds of the opening
)

// HideWeights is the part of Hide that stands for weights.
const HideWeights = "weights"

// Values of Hash: the suite of a key and its proofs.
const (
	HashBLAKE3    = "blake3"
	HashPoseidon2 = "poseidon2"
)

// Values of Prove, beside shares.
const (
	ProveAll       = "all"
	ProveRequested = "requested"
)

// ProveShare returns the share of answers, from 0 to 1, that a server proves without being asked.
func (c *Config) ProveShare() (float64, error) {
	switch c.Prove {
	case ProveAll:
		return 1, nil
	case ProveRequested:
		return 0, nil
	}
	share, err := strconv.ParseFloat(c.Prove, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("--prove %q: want all, requested, or a number from 0 to 1", c.Prove)
	}
	return share, nil
}

// Values of GPU.
const (
	GPUOff     = "off"
	GPUAuto    = "auto"    // use one when there is one
	GPURequire = "require" // fail when there is none
)

// Default returns the defaults of all settings.
func Default() Config {
	return Config{
		Mode:         ModeAuto,
		TargetError:  0.001,
		Headroom:     2,
		Soundness:    SoundnessUnique,
		Hash:         HashBLAKE3,
		SecurityBits: 100,
		GrindBits:    16,
		MinBits:      100,
		TopP:         1,
		GPU:          GPUOff,
		GPUThreshold: -1,
		GPUStreams:   8,
		CPUWorkers:   1,
		Listen:       "127.0.0.1:8080",
		Data:         "prove-model.data",
		Prove:        ProveAll,
		MaxBodyMB:    16,
		MaxQueue:     1000,
		Workers:      1,
		Replicas:     1,
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

// DeviceNumbers returns the numbers of the GPUs that Devices lists, nil if it is empty.
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

// Fixed returns the files of Fix, by the names of the inputs.
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

// Reveals returns what Reveal asks for, by the names of the outputs: how many of the greatest entries are stated, 0 for
// the greatest alone (argmax).
func (c *Config) Reveals() (map[string]int, error) {
	tops := make(map[string]int, len(c.Reveal))
	for _, s := range c.Reveal {
		at := strings.LastIndex(s, "=")
		name, what := s[:max(at, 0)], s[at+1:]
		top, ok := 0, what == "argmax"
		if number, is := strings.CutPrefix(what, "top-"); is {
			var err error
			top, err = strconv.Atoi(number)
			ok = err == nil && top > 0
		}
		if !ok || name == "" {
			return nil, fmt.Errorf("--reveal %q: want name=argmax or name=top-K, such as --reveal logits=top-5", s)
		}
		if _, ok := tops[name]; ok {
			return nil, fmt.Errorf("--reveal %s is given twice", name)
		}
		tops[name] = top
	}
	return tops, nil
}

// Hidden says what is hidden.
type Hidden struct {
	Weights bool
	// Inputs and Outputs are names of hidden inputs and outputs; "" stands for all of them.
	Inputs, Outputs []string
}

// Run says whether a proof hides inputs or outputs.
func (h *Hidden) Run() bool { return len(h.Inputs)+len(h.Outputs) > 0 }

// HiddenOf returns what Hide says is hidden.
func (c *Config) HiddenOf() (*Hidden, error) {
	h := &Hidden{}
	if c.Hide == "" {
		return h, nil
	}
	for _, what := range strings.Split(c.Hide, ",") {
		kind, name, named := strings.Cut(what, ":")
		switch {
		case what == HideWeights:
			h.Weights = true
		case kind == "input" && named == (name != ""):
			h.Inputs = append(h.Inputs, name)
		case kind == "output" && named == (name != ""):
			h.Outputs = append(h.Outputs, name)
		default:
			return nil, fmt.Errorf("--hide %q: want weights, input, output, input:NAME or output:NAME, with commas", c.Hide)
		}
	}
	return h, nil
}

// InputOf splits InputCommitment: the name of the input, "" for the only one, and the file of the commitment to it, ""
// if the setting is empty.
func (c *Config) InputOf() (name, file string) {
	if name, file, named := strings.Cut(c.InputCommitment, "="); named {
		return name, file
	}
	return "", c.InputCommitment
}

// ShareOf returns the number of a share, and the number of all shares; zeros if Share is empty.
func (c *Config) ShareOf() (number, of int, err error) {
	switch c.Share {
	case "":
		return 0, 0, nil
	case "1":
		return 1, 1, nil
	}
	left, right, _ := strings.Cut(c.Share, "/")
	number, badNumber := strconv.Atoi(left)
	of, bad := strconv.Atoi(right)
	if badNumber != nil || bad != nil || number < 1 || number > of || of > 1<<20 {
		return 0, 0, fmt.Errorf("--share %q: want K/N, number K of N shares such as 2/4, or 1 for all", c.Share)
	}
	return number, of, nil
}

// validate reports every setting that is out of range, and those that contradict each other.
func (c *Config) validate() error {
	errs := seq.Map(settings, func(s setting) error { return s.validate(c) })
	_, devices := c.DeviceNumbers()
	_, dims := c.Dims()
	_, prove := c.ProveShare()
	_, reveals := c.Reveals()
	_, fixed := c.Fixed()
	_, _, share := c.ShareOf()
	_, hidden := c.HiddenOf()
	errs = append(errs, devices, dims, prove, reveals, fixed, share, hidden)
	if (c.TLSCert == "") != (c.TLSKey == "") {
		errs = append(errs, errors.New("--tls-cert and --tls-key go together"))
	}
	if (c.ClusterCert == "") != (c.ClusterKey == "") {
		errs = append(errs, errors.New("--cluster-cert and --cluster-key go together"))
	}
	if c.ClusterCreds != "" && c.ClusterNKey != "" {
		errs = append(errs, errors.New("--cluster-creds and --cluster-nkey are two ways to say who this is: give one"))
	}
	return errors.Join(append(errs, c.checkStdin())...)
}
