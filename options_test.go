package provemodel

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/prove-model/prove-model/internal/hiding"
	"github.com/prove-model/prove-model/prover/machine/ledger"
	"github.com/prove-model/prove-model/prover/proof"
)

// with sets an option of one of the calls on the way from a model to a proof. Tests that go the whole way have one list of
// them, of which each call takes its own.
type with func(*every)

// every are the options of all these calls.
type every struct {
	quantise QuantiseOptions
	commit   CommitOptions
	prove    ProveOptions
	certify  CertifyOptions
	gpu      GPUOptions
}

func gather(list []with) *every {
	e := &every{}
	for _, set := range list {
		set(e)
	}
	return e
}

func quantiseWith(list ...with) *QuantiseOptions { return &gather(list).quantise }
func commitWith(list ...with) *CommitOptions     { return &gather(list).commit }
func proveWith(list ...with) *ProveOptions       { return &gather(list).prove }
func certifyWith(list ...with) *CertifyOptions   { return &gather(list).certify }
func gpuWith(list ...with) *GPUOptions           { return &gather(list).gpu }

func withObserve(o Observer) with {
	return func(e *every) {
		e.quantise.Observer, e.commit.Observer, e.prove.Observer, e.certify.Observer, e.gpu.Observer = o, o, o, o, o
	}
}

func withOn(d *Device) with {
	return func(e *every) { e.commit.Device, e.prove.Device, e.certify.Device = d, d, d }
}

func withCache(dir string) with {
	return func(e *every) { e.quantise.CacheDir, e.commit.CacheDir, e.prove.CacheDir = dir, dir, dir }
}

func withBudget(bytes int64) with {
	return func(e *every) {
		e.prove.MemoryBudget, e.certify.MemoryBudget, e.gpu.MemoryBudget = bytes, bytes, bytes
	}
}

func withMode(name string) with      { return func(e *every) { e.quantise.Mode = name } }
func withHeadroom(x float64) with    { return func(e *every) { e.quantise.Headroom = x } }
func withTargetError(x float64) with { return func(e *every) { e.quantise.TargetError = x } }
func withFromRanges(r Ranges) with   { return func(e *every) { e.quantise.Ranges = r } }
func withKeepRanges() with           { return func(e *every) { e.quantise.KeepRanges = true } }
func withProvisional() with          { return func(e *every) { e.quantise.Provisional = true } }
func withSecurityBits(n int) with    { return func(e *every) { e.commit.SecurityBits = n } }
func withGrindBits(n int) with       { return func(e *every) { e.commit.GrindBits = n } }
func withSoundness(name string) with { return func(e *every) { e.commit.Soundness = name } }
func withHash(name string) with      { return func(e *every) { e.commit.Hash = name } }
func withSample(s Sampling) with     { return func(e *every) { e.prove.Sampling = &s } }
func withContinue(p *Pass) with      { return func(e *every) { e.prove.Pass = p } }
func withRequire() with              { return func(e *every) { e.gpu.Required = true } }
func withThreshold(entries int) with { return func(e *every) { e.gpu.Threshold = entries } }
func withStreams(n int) with         { return func(e *every) { e.gpu.Streams = n } }
func withMaxError(x float64, float []Tensor) with {
	return func(e *every) { e.prove.MaxError, e.prove.Float = x, float }
}

// What no call could do is refused before any work, by the name of the field; and the zero value is the default.
func TestOptions(t *testing.T) {
	m, samples := &Model{}, []Input{{{1}}}
	committed := &Committed{}
	type fault struct {
		call func() error
		want string
	}
	quantise := func(o QuantiseOptions) func() error {
		return func() error { _, err := Quantise(t.Context(), m, samples, &o); return err }
	}
	commit := func(o CommitOptions) func() error {
		return func() error { _, err := Commit(t.Context(), nil, &o); return err }
	}
	prove := func(o ProveOptions) func() error {
		return func() error { _, err := Prove(t.Context(), committed, samples[0], &o); return err }
	}
	each := func(o ProveOptions, floats [][]Tensor) func() error {
		return func() error { _, err := committed.ProveEach(t.Context(), samples, floats, &o); return err }
	}
	certify := func(o CertifyOptions) func() error {
		return func() error { _, err := committed.Certify(t.Context(), &o); return err }
	}
	gpu := func(o GPUOptions) func() error {
		return func() error { _, err := OpenGPU(t.Context(), &o); return err }
	}
	verify := func(o VerifyOptions) func() error {
		return func() error { _, err := Verify(nil, nil, &o); return err }
	}
	for name, f := range map[string]fault{
		"mode":              {quantise(QuantiseOptions{Mode: "int4"}), "int4"},
		"target":            {quantise(QuantiseOptions{TargetError: -1}), "TargetError is -1"},
		"target too large":  {quantise(QuantiseOptions{TargetError: 2}), "TargetError is 2"},
		"no target":         {quantise(QuantiseOptions{TargetError: math.NaN()}), "TargetError is NaN"},
		"headroom":          {quantise(QuantiseOptions{Headroom: 0.5}), "Headroom is 0.5"},
		"infinite headroom": {quantise(QuantiseOptions{Headroom: math.Inf(1)}), "Headroom is +Inf"},
		"bits":              {commit(CommitOptions{SecurityBits: -1}), "SecurityBits is -1"},
		"too many bits":     {commit(CommitOptions{SecurityBits: 121}), "SecurityBits is 121"},
		"grinding":          {commit(CommitOptions{GrindBits: 25}), "GrindBits is 25"},
		"negative grinding": {commit(CommitOptions{GrindBits: -2}), "GrindBits is -2"},
		"soundness":         {commit(CommitOptions{Soundness: "none"}), "none"},
		"hide":              {commit(CommitOptions{Hide: "all", SecretFile: "s"}), `Hide is "all"`},
		"no secret":         {commit(CommitOptions{Hide: hiding.Weights}), "option SecretFile says"},
		"secret alone":      {commit(CommitOptions{SecretFile: "s"}), "Hide is empty"},
		"proofs alone":      {commit(CommitOptions{Proofs: 1}), "Hide is empty"},
		"proofs":            {commit(CommitOptions{Hide: hiding.Weights, SecretFile: "s", Proofs: -1}), "Proofs is -1"},
		"share":             {prove(ProveOptions{Share: ledger.Share{Number: 3, Of: 2}}), "Share is 3/2"},
		"budget":            {prove(ProveOptions{MemoryBudget: -1}), "MemoryBudget is -1"},
		"workers":           {prove(ProveOptions{Workers: -1}), "Workers is -1"},
		"max error":         {prove(ProveOptions{MaxError: -0.1}), "MaxError is -0.1"},
		"no max error":      {prove(ProveOptions{MaxError: math.NaN()}), "MaxError is NaN"},
		"float alone":       {prove(ProveOptions{Float: []Tensor{}}), "MaxError does not say"},
		"resume alone":      {prove(ProveOptions{Resume: true}), "CacheDir, which is empty"},
		"sampling":          {prove(ProveOptions{Sampling: &Sampling{}}), "temperature"},
		"float for each":    {each(ProveOptions{MaxError: 1, Float: []Tensor{}}, nil), "ProveEach proves several"},
		"pass for each":     {each(ProveOptions{Pass: &Pass{}}, nil), "ProveEach proves several"},
		"floats alone":      {each(ProveOptions{}, [][]Tensor{nil}), "MaxError does not say"},
		"too few floats":    {each(ProveOptions{MaxError: 1}, nil), "there are 0"},
		"certify's budget":  {certify(CertifyOptions{MemoryBudget: -1}), "MemoryBudget is -1"},
		"all and some":      {gpu(GPUOptions{All: true, Devices: []int{0}}), "All opens all"},
		"a GPU twice":       {gpu(GPUOptions{Devices: []int{1, 1}}), "[1 1]"},
		"a GPU below 0":     {gpu(GPUOptions{Devices: []int{-1}}), "[-1]"},
		"threshold":         {gpu(GPUOptions{Threshold: -1}), "Threshold is -1"},
		"streams":           {gpu(GPUOptions{Streams: -1}), "Streams is -1"},
		"the GPU's budget":  {gpu(GPUOptions{MemoryBudget: -1}), "MemoryBudget is -1"},
		"verify":            {verify(VerifyOptions{MinBits: -1}), "MinBits is -1"},
		"first values":      {verify(VerifyOptions{FirstValues: -1}), "FirstValues is -1"},
	} {
		if err := f.call(); err == nil || !strings.Contains(err.Error(), f.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, f.want)
		}
	}
	for _, o := range []CommitOptions{{}, {SecurityBits: 100, GrindBits: 16, Soundness: "unique"}} {
		if sec, err := o.security(); err != nil || sec != proof.DefaultSecurity {
			t.Errorf("%+v: %+v, %v", o, sec, err)
		}
	}
	if sec, err := (&CommitOptions{GrindBits: -1}).security(); err != nil || sec.GrindBits != 0 {
		t.Errorf("without grinding: %+v, %v", sec, err)
	}
	a, errA := (&QuantiseOptions{}).settings(0)
	b, errB := (&QuantiseOptions{Mode: "auto", TargetError: 0.001, Headroom: 2}).settings(0)
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%+v, %v and %+v, %v", a, errA, b, errB)
	}
}
