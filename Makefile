# Needs Go, git and make. `make help` lists the targets; variables with ?= below can be set on the command line, as in
# `make bench PKG=./switch/... COUNT=10`.

PKG       ?= ./...
TESTFLAGS ?=
BENCH     ?= .
COUNT     ?= 1
FUZZTIME  ?= 10s
FUZZCACHE ?=

# The race detector needs a C compiler; where Go finds none, tests run without it, and say so.
CGO  := $(shell go env CGO_ENABLED)
RACE ?= $(if $(filter 1,$(CGO)),-race)
MODULE := github.com/weft-fabric/weft
# imports(FIELDS,PACKAGES) lists the packages of PKG that import one of PACKAGES.
imports = $(sort $(shell go list -f '{{$$p := .ImportPath}}$(foreach f,$(1),{{range .$f}}$(foreach i,$(2),{{if eq . "$i"}}{{println $$p}}{{end}}){{end}})' $(PKG)))
# What has goroutines or locks imports sync, or its tests look for goroutines that are left; nothing else has races.
RACED = $(sort $(call imports,Imports,sync sync/atomic) $(call imports,TestImports XTestImports,go.uber.org/goleak))
# The tests of these do more without the race detector, and at soak. What else raced has tested does no more in full.
LEVELS = $(shell go list -f '{{.ImportPath}} {{.Dir}}' $(PKG) | while read -r p dir; do \
	! grep -qwE 'testenv\.(Unraced|Race|N|Levels|Full|Soak|Nightly|For)' "$$dir"/*_test.go 2>/dev/null || echo "$$p"; done)
FULL = $(sort $(LEVELS) $(filter-out $(RACED),$(shell go list $(PKG))))
# What takes longest comes first.
FIRST := %/harness/verify %/fabricd/cli %/fabricd/ib/ibd %/fabricd/web %/fabricd/fabric
first = $(foreach p,$(FIRST),$(filter $(p),$(1))) $(filter-out $(FIRST),$(1))
# test(ENVIRONMENT,FLAGS,PACKAGES) tests packages, if there are any.
test = $(if $(strip $(3)),$(1) go test -vet=off -timeout 30m $(2) $(TESTFLAGS) $(call first,$(3)),true)

# Of a go.mod of its own, so that modules that import Weft do not get its dependencies.
TOOL := go tool -modfile=.ci/tools/go.mod
# Of go.mod files of their own, too.
ACTIONLINT := go tool -modfile=.ci/actions/go.mod actionlint
GORELEASER := go tool -modfile=.ci/release/go.mod goreleaser

# Packages that keep a generated schema in docs/schema.
SCHEMA_PKG := ./fabricd/topology ./fabricd/scenario ./fabricd/api ./harness/sweep

SCENARIOS ?= $(sort $(wildcard scenarios/*.yaml scenarios/faults/*.yaml))
JUNIT     ?= bin/scenarios.xml

EXPERIMENTS ?= scenarios/papers
RESULTS     ?= results
WITHIN      ?= 20h
QUICK       ?=
SAMPLES     ?=

# What results are marked with. Go's own note is missing in a second work tree, and is "dirty" as soon as results are written.
REVISION := $(shell git rev-parse --short=12 HEAD 2>/dev/null)$(if $(shell git status --porcelain -- . ':!docs' 2>/dev/null),+dirty)

# A profile to build with: fabricd/speed.pgo makes virtual time 8% faster, and the first build, of all packages, minutes long.
PGO ?= off

.DEFAULT_GOAL := help
.PHONY: help test computed page raced full vet check bench fuzz build web browser screenshots watching bench-hops bench-proofs bench-programs profile scenarios experiments figures soak hosts attacks proofs schema systems licences release-files release-snapshot release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# As fabricd has it: garbage is collected less often. That alone saves compilers a tenth of the processor's time.
test raced full: export GOGC ?= 400

# In turn, for tests of live fabrics are slow on a machine with more to do than it can. Live scenarios leave it half idle: what
# only computes is done beside them, and gives way to them.
test: ## all that this machine can test: vet, other systems, the page, scenarios, raced, full (PKG, TESTFLAGS)
	@for part in "-j2 computed scenarios" raced "full AFTER=raced"; do \
		began=$$(date +%s); $(MAKE) --no-print-directory $$part || exit 1; echo "make $$part: $$(($$(date +%s) - began)) s"; \
	done

computed:
	@for part in vet systems page; do nice -n 19 $(MAKE) --no-print-directory $$part || exit 1; done

page: ## test the page and see that fabricd/web/dist is what its source gives, where a Node.js can
	@why=; if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || a == 20 && b >= 19 ? 0 : 1)' 2>/dev/null; then \
		why="there is no Node.js of 20.19 or newer"; \
	elif ! (cd fabricd/web/app && npm ci --no-audit --no-fund); then why="npm cannot fetch what it is built with"; fi; \
	if [ -n "$$why" ]; then echo "the page is not built anew: $$why"; [ "$$CI" != true ]; exit; fi; \
	$(MAKE) --no-print-directory web && changed=$$(git status --porcelain -- fabricd/web/dist) && \
	if [ -n "$$changed" ]; then echo "fabricd/web/dist is not what fabricd/web/app gives: run make web and commit it"; exit 1; fi

raced: ## the tests of packages with goroutines or locks, under the race detector
	$(if $(RACE),,@echo "no C compiler: testing without the race detector")
	@$(call test,WEFT_TEST=full,$(RACE),$(RACED))

# AFTER=raced is set by test: then tests are not run that ask testenv for Raced.
full: ## all that tests do, without the race detector, where that is more than raced does
	@$(call test,WEFT_TEST=full $(if $(and $(AFTER),$(RACE)),WEFT_RACED='$(RACED)'),,$(FULL))

# With documentation comments (ST1000, ST1020 to ST1022).
vet: ## go vet, staticcheck and formatting
	go vet ./...
	$(TOOL) staticcheck -checks 'all,-QF*,-SA9003,-ST1003,-ST1016,-ST1023' ./...
	@list=$$(git ls-files -z '*.go' | xargs -0 $(TOOL) gofumpt -l) || exit 1; \
	if [ -n "$$list" ]; then echo "not as gofumpt has it:" $$list; exit 1; fi

# The linter takes minutes to build: make test does without it, and .ci/run packages runs this.
check: vet systems licences ## vet, import rules, workflows, other systems, licences
	$(TOOL) golangci-lint run ./...
	$(ACTIONLINT) .github/workflows/*.yml examples/*/.github/workflows/*.yml

systems: ## check that all compiles on the other systems that a release is built for
	go run ./deploy/systems darwin/arm64 windows/amd64

licences: ## list the licences of all dependencies; fails on one that is not known to allow use under Apache-2.0
	go run ./deploy/licences

bench: ## run the benchmarks (PKG, BENCH, COUNT)
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG)

# The tests of a package are linked once for all its targets, and of what is compiled only our own packages are instrumented: go test -fuzz
# would compile all others and Go's library once more, to be led by branches in them too.
fuzz: ## run each fuzz target in turn (PKG, FUZZTIME; FUZZCACHE, a folder for what is found instead of Go's own)
	@bin=$$(mktemp -d) && trap 'rm -rf "$$bin"' EXIT; cache="$(FUZZCACHE)"; cache="$${cache:-$$(go env GOCACHE)/fuzz}"; \
	go list -f '{{.ImportPath}} {{.Dir}}' $(PKG) >"$$bin/packages" || exit 1; \
	while read -r pkg dir; do sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$$pkg \1 $$dir|p" "$$dir"/*_test.go 2>/dev/null; done <"$$bin/packages" >"$$bin/targets"; \
	[ -s "$$bin/targets" ] || { echo "no fuzz targets in $(PKG)"; exit 0; }; \
	cut -d' ' -f1 "$$bin/targets" | uniq | xargs go test -c -vet=off -ldflags='-s -w' -gcflags='$(MODULE)/...=-d=libfuzzer' -o "$$bin/" || exit 1; \
	while read -r pkg target dir; do \
		echo "$$target ($$pkg)"; mkdir -p "$$cache/$$pkg" && cd "$$dir" || exit 1; \
		set -- "$$bin/$${pkg##*/}.test" -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZTIME) -test.fuzzcachedir "$$cache/$$pkg"; \
		"$$@" || { echo "once more: what fails is kept and fails again, a deadline that a worker missed does not"; "$$@"; } || exit 1; \
	done <"$$bin/targets"

build: ## build bin/fabricd and bin/linkmon (PGO)
	go build -pgo=$(PGO) $(if $(REVISION),-ldflags '-X $(MODULE)/fabricd/cli/command.revision=$(REVISION)') -o bin/ ./fabricd ./linkmon

web: ## test the page and build fabricd/web/dist anew from fabricd/web/app; needs Node.js 20.19 or newer, nothing else here does
	cd fabricd/web/app && npm ci --no-audit --no-fund && npm test && npm run build

browser: build ## test the page in Chromium, against running fabrics; go test ./fabricd/web does so too
	cd fabricd/web/e2e && npm ci --no-audit --no-fund && npm run check && npm test

screenshots: build ## take pictures of the page, a report and the screen into results/screenshots, and those that docs show into docs
	cd fabricd/web/e2e && npm ci --no-audit --no-fund && npm run screenshots

watching: build ## measure the page and what it costs a fabric to be watched, in half an hour, into results/web.md and results/watching.md
	cd fabricd/web/e2e && npm ci --no-audit --no-fund && npm run bench

bench-hops: ## what a packet-hop costs live, paced and not, and in virtual time, from small to large, into results/live*.csv and cost.csv
	@mkdir -p $(RESULTS)
	go run ./scenarios/papers cost-live --rate 13000 $(RESULTS)
	go run ./scenarios/papers cost-live --unpaced $(RESULTS)
	go run ./scenarios/papers cost $(RESULTS)

bench-proofs: ## what exploring all sets of faults at once takes, and one by one: processor time, and the ratio
	go test ./harness/verify -run '^$$' -bench LazyToEnumeration -benchtime 1x

bench-programs: ## what programs get through fabrics, beside a pair of TUNs and gVisor alone, into results/programs.txt
	@mkdir -p $(RESULTS)
	go test ./fabricd/namespace -run '^$$' -bench Stacks -count $(COUNT) | tee $(RESULTS)/programs.txt
	go test ./fabricd/namespace -run '^$$' -bench Programs -benchtime 1x -count $(COUNT) | tee -a $(RESULTS)/programs.txt

profile: ## regenerate fabricd/speed.pgo, see PGO
	@mkdir -p bin
	go test ./harness/measure -run '^$$' -bench 'FatTree|Mesh|Torus' -benchtime 3s -cpuprofile $(CURDIR)/fabricd/speed.pgo -o $(CURDIR)/bin/measure.test

scenarios: build ## run every scenario in virtual time, then live, print tables, write JUnit XML (SCENARIOS, JUNIT)
	@[ -n "$(SCENARIOS)" ] || { echo "no scenarios"; exit 1; }
	bin/fabricd run $(SCENARIOS) --virtual
	bin/fabricd run $(SCENARIOS) --junit $(JUNIT) --jobs 2

experiments: build ## repeat the papers' experiments, until each statement is decided, overnight; QUICK=1 takes minutes (EXPERIMENTS, RESULTS, QUICK, WITHIN, AGAIN)
	bin/fabricd sweep --settle $(EXPERIMENTS) --out $(RESULTS) --within $(WITHIN) $(if $(AGAIN),--again $(AGAIN)) $(if $(QUICK),--quick --samples 4) || [ $$? -eq 1 ] # 1: a claim of ours does not hold
	bin/fabricd sweep --report $(RESULTS)

figures: ## the same, going on from the runs of docs/results/runs, and docs/results/claims.md with its figures (RESULTS, WITHIN)
	go run ./scenarios/papers runs docs/results $(RESULTS)
	$(MAKE) --no-print-directory experiments AGAIN=4
	go run ./scenarios/papers claims $(RESULTS) docs/results

soak: ## for hours: all that tests do at soak, as random faults and failures, histories of the ledger, long proofs (PKG, WEFT_FOR, WEFT_SEED)
	WEFT_TEST=soak go test -p 1 -v -count 1 -timeout 0 $(LEVELS)

hosts: ## as root: fabrics whose hosts are network namespaces, which fail and come back; part of make test
	WEFT_TEST=full go test ./fabricd/cli -run NetworkNamespaces -v -count 1

attacks: ## run every attack of the table in docs/reference/security.md, as root for those of another user, and write its numbers anew; ten minutes
	WEFT_TEST=full go test ./harness/attack -run TheTable -v -count 1 -timeout 0 -update

proofs: ## every claim of docs/explanation/proofs.md into docs/results/proofs.md; for hours, or WEFT_FOR=1m no longer than that each
	WEFT_TEST=soak go test ./harness/verify -run Claims -v -count 1 -timeout 0 -update

schema: ## regenerate docs/schema
	go test $(SCHEMA_PKG) -run Schema -update

# What .goreleaser.yaml takes from the environment.
RELEASE = PGO=$(if $(filter command,$(origin PGO)),$(PGO),fabricd/speed.pgo) RELEASE_MOD=$(CURDIR)/.ci/release/go.mod \
	WEFT_VERSION=$(shell sed -n 's/^const Release = "\(.*\)"/\1/p' fabricd/cli/command/version.go) \
	WEFT_REVISION=$(REVISION) WEFT_SECONDS=$(call committed,%ct) WEFT_DATE=$(call committed,%cI) HOMEBREW_TAP_TOKEN=$(HOMEBREW_TAP_TOKEN)
committed = $(shell git log -1 --format=$(1))

release-files: ## what a release has beside the programs, into bin/release: manual pages, completion, licences
	rm -rf bin/release
	go run ./deploy/pages bin/release $(call committed,%ct)
	go run ./deploy/licences bin/release/licences.txt

release-snapshot: ## build all that a release is made of into dist, and publish nothing; quick with PGO=off and ONLY=linux/amd64
	@mkdir -p bin
	sed $(if $(ONLY),-e 's|goos: \[.*|goos: [$(word 1,$(subst /, ,$(ONLY)))]|' -e 's|goarch: \[.*|goarch: [$(word 2,$(subst /, ,$(ONLY)))]|') \
		-e '' .goreleaser.yaml >bin/goreleaser.yaml
	$(RELEASE) $(GORELEASER) check --quiet
	$(RELEASE) $(GORELEASER) release --snapshot --clean --config bin/goreleaser.yaml

release: ## build and publish the release of the tag that is checked out; the workflow release does so
	cd fabricd/web/app && npm ci --no-audit --no-fund # for the texts of licences
	awk '/^## \[/ { n++ } n == 2' CHANGELOG.md | sed '/^\[/d' >bin/notes.md
	$(RELEASE) $(GORELEASER) release --clean --release-notes bin/notes.md

clean: ## remove what was built
	rm -rf bin dist
