package provemodel

import (
	"github.com/prove-model/prove-model/prover/proof"
)

// An Option departs from a default. Each says which functions it is for; the
// others pass over it, so that one list of options serves all calls of a
// program.
type Option func(*options)

type options struct {
	observer Observer

	mode     string
	headroom float64
	target   float64 // 0: the default
	budget   int64   // 0: none
	keep     bool

	provisional bool
	ranges      *Ranges

	security  proof.Security
	soundness string

	caching  bool
	cacheDir string
	resume   uint64 // entries of a witness from which results are kept; 0: never
	runs     int    // of how many proofs values are there at a time (ProveEach); 0: one

	device    *Device
	require   bool
	threshold int   // negative: what pays
	all       bool  // GPUs
	devices   []int // GPUs by number; nil: the first
	gpuLanes  int
	cpuLanes  int
	track     bool

	pass      *Pass
	bar       *bar
	unchecked bool

	sampling *Sampling
}

// defaultBudget is 8 GB, for chunks that are proved at once.
const defaultBudget = 8 << 30

// chunks is the memory for chunks that are proved at once.
func (o *options) chunks() int64 {
	if o.budget == 0 {
		return defaultBudget
	}
	return o.budget
}

func apply(opts []Option) *options {
	o := &options{
		observer: silent{}, headroom: 2, threshold: -1, gpuLanes: 8, cpuLanes: 1, device: &Device{},
		security: proof.DefaultSecurity, soundness: proof.DefaultSecurity.Mode.String(),
	}
	for _, set := range opts {
		set(o)
	}
	return o
}

// Observe has the observer told how the work goes. For every function that
// takes a context.
func Observe(observer Observer) Option { return func(o *options) { o.observer = observer } }

// Mode sets the precision: "auto", what brings the outputs close to the float
// model's, which is the default, "w8a8", eight bits for weights and activations,
// or "exact", sixteen bits wherever that is possible. For Quantise.
func Mode(name string) Option { return func(o *options) { o.mode = name } }

// TargetError is the error of the outputs, as a fraction of their range, that the mode
// "auto" chooses formats for: above 0 and at most 1, by default 0.001. A larger one makes
// proofs cheaper.
func TargetError(e float64) Option { return func(o *options) { o.target = e } }

// Headroom widens the calibrated ranges by a factor of at least 1, by default
// 2. For Quantise.
func Headroom(factor float64) Option { return func(o *options) { o.headroom = factor } }

// Budget is the memory in bytes that a proof may take on the processor beside the
// weights, its forward pass included; 0, as without the option, is no bound. What does
// not fit is in files of the cache's folder, as LimitMemory says, which holds for the
// process while the proof is made. The circuit alone decides how large chunks are: so
// many are proved at once as fit into four fifths of the budget, or of 8 GB without one,
// and one that takes more by itself is warned about. On a GPU it decides what is kept and
// what is made again (docs/gpu.md, "Memory"). No byte of a proof depends on it.
// For Prove and OpenGPU.
func Budget(bytes int64) Option { return func(o *options) { o.budget = bytes } }

// Lanes is how many chunks are proved at once on the processor, as far as the budget
// allows, by default 1: one uses all cores by itself for most of its time. For Prove and
// OpenGPU.
func Lanes(n int) Option { return func(o *options) { o.cpuLanes = n } }

// KeepRanges takes the ranges of the samples that the model was first
// quantised with, if the cache has them: so the key stays the same from input
// to input. For Quantise, with Cache.
func KeepRanges() Option { return func(o *options) { o.keep = true } }

// Provisional says that the samples are made up, so that what they give is not
// to become the model's: their ranges are not kept in the cache. For Quantise.
func Provisional() Option { return func(o *options) { o.provisional = true } }

// FromRanges takes the ranges of all values as given, in place of samples. It is
// an error if they are another model's. For Quantise.
func FromRanges(r Ranges) Option { return func(o *options) { o.ranges = &r } }

// SecurityBits is the least security of every round of a proof in bits, proofs
// of work included: 1 to 120, by default 100. For Commit.
func SecurityBits(n int) Option { return func(o *options) { o.security.TargetBits = n } }

// GrindBits is the largest proof of work of a round: 0 to 24, by default 16.
// For Commit.
func GrindBits(n int) Option { return func(o *options) { o.security.GrindBits = n } }

// Soundness names the bound that query counts come from: "unique" decoding,
// the default, or "johnson" for shorter proofs. For Commit.
func Soundness(name string) Option { return func(o *options) { o.soundness = name } }

// Cache keeps calibrated ranges and commitments in a folder, or in the user's
// cache folder if dir is empty, and takes them from there. A cache that cannot
// be used is warned about. For Quantise and Commit.
func Cache(dir string) Option { return func(o *options) { o.caching, o.cacheDir = true, dir } }

// On has the work done on a device. Results are the same. For Commit and Prove.
func On(d *Device) Option { return func(o *options) { o.device = d } }

// Require makes a GPU that cannot be had, or that fails on the way, an error
// rather than a warning. For OpenGPU.
func Require() Option { return func(o *options) { o.require = true } }

// Threshold is the least size, in entries of the tables concerned, of a step
// that goes to the GPU; without it that is what pays. For OpenGPU.
func Threshold(entries int) Option { return func(o *options) { o.threshold = entries } }

// AllGPUs has OpenGPU open all GPUs that can be used, and chunks proved on them beside
// each other.
func AllGPUs() Option { return func(o *options) { o.all = true } }

// GPUs has OpenGPU open the GPUs with these numbers, as the driver counts them from 0
// on.
func GPUs(numbers ...int) Option { return func(o *options) { o.devices = numbers } }

// GPULanes is how many chunks are proved at once on a GPU, as far as its memory allows;
// by default 8; with 1 one after the other. For OpenGPU.
func GPULanes(n int) Option { return func(o *options) { o.gpuLanes = n } }

// TrackMemory proves chunks one after the other and holds the memory that each takes on
// a GPU against its estimate: Prove fails if that is more than 1 MB short, or 5 MB too
// much. For OpenGPU.
func TrackMemory() Option { return func(o *options) { o.track = true } }

// MaxError proves nothing if an output of the run is further than a fraction of
// its range from the float model's, which Model.Run gives on the same input: the
// error is then an *AccuracyError. For Prove.
func MaxError(fraction float64, float []Tensor) Option {
	return func(o *options) { o.bar = &bar{fraction, float} }
}

// NoSelfCheck leaves out the verification of a proof that was just made. For
// Prove.
func NoSelfCheck() Option { return func(o *options) { o.unchecked = true } }

// Sample has tokens drawn from the logits by a rule, in place of the likeliest. For
// Circuit.Write, and for Prove of what that wrote; VerifyOptions take the rule too.
func Sample(s Sampling) Option { return func(o *options) { o.sampling = &s } }
