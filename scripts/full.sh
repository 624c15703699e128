#!/usr/bin/env bash
# Tests of many cases that are alike, of which `make test` tries a few of each kind, with
# all of them. What needs NVRTC is skipped where there is none, except when CI=true.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

"$go" test -timeout 1h -run 'ValuesAgain|Fallback|RequiredDevice|Lanes|DeadFields|ForgedCodes|ForgedUndefined|DishonestProvers|Devices|TestNeed$|LimbsAreForced|Ranks|TestPool$' ./prover/prover -full
"$go" test -timeout 1h -run 'OperatorModels|Settle|Flipped|MutatedKeys|ForgedInSeveralSteps' ./prover/prover -full
"$go" test -timeout 1h -run 'Conformance' ./prover/protocol/backend ./prover/machine/cuda ./prover/machine/cuda/peers -full
"$go" test -timeout 1h -run 'HidingRanks|LongRows' ./prover/protocol/whir -full
"$go" test -timeout 1h -run 'KeyEveryByteMatters|DecodeGraph|DecodeAsSchema' ./prover/proof -full
"$go" test -timeout 1h -run '^TestGolden(WithoutAssembly)?$' ./internal/golden -full
"$go" test -timeout 1h -run 'OperatorsInEveryMode|^TestWrite$|SegmentsLikeRun|AdaptersQuantised|Exports|Batches|EveryByteCounts' . -full
"$go" test -timeout 1h -run 'WorkersKilled' ./cmd/prove-model-server -cluster-jobs 30
# The same cases each time; others: SEED=7 scripts/full.sh
"$go" test -timeout 1h -run 'DrawnFormats' ./quantise -rapid.checks=3000 -rapid.seed="${SEED:-1}"
"$go" test -timeout 1h -run 'DrawnTextFormats' ./quantise -full -rapid.checks=300 -rapid.seed="${SEED:-1}"
"$go" test -timeout 1h -run 'FreeLength|HiddenWeights|AnyInputRuns|InputScales|FreeBatch|HiddenOperators|ReplayOfNonsense' ./quantise -full
"$go" test -timeout 1h -run 'TemplatesAreWhatSizesAreMadeTo' ./quantise/lower -full
"$go" test -timeout 1h -run 'TestError|TestPow' ./internal/elementary -full
"$go" test -timeout 1h -run 'Chains' ./kernels -full

. scripts/cuda-env.sh
if ! cuda_env || ! cuda_nvrtc; then
	echo "full: compiling kernels SKIPPED" >&2
	[ "${CI:-}" != true ]
	exit
fi
"$go" test -timeout 1h -tags cuda -run '^TestCompile$' ./kernels -full
