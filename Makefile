# Needs Go, git and make. `make help` lists the targets; variables with ?= below can be set on the command line, as in
# `make bench PKG=./switch/... COUNT=10`.

PKG       ?= ./...
TESTFLAGS ?=
BENCH     ?= .
COUNT     ?= 1
FUZZTIME  ?= 10s
FUZZCACHE ?=
HOURS     ?= 1
MINUTES   ?= 10
ROUNDS    ?= 300
HISTORIES ?= 1000000
SHORT     ?=
LIMIT     ?= 0

# Tests run under the race detector, but for packages that start no goroutine and hold no lock (tidy_test.go sees to that): it would find nothing
# in them, and would take minutes. The detector needs a C compiler; where Go finds none, tests run without it, and say so.
PURE := /(weft|switch|switch/(deadlock|firmware|link|pace|tables)|nic|linkmon/screen/mirror|fabricd/(deflate|document|document/nearest|fault|ledger|subnet|topology(/[a-z]+)?|trace|web)|subnet/(cdg|direct|dqr|layered|manage|opensm|reroute|survey|tolerate)|harness/(chart|measure|virtual)|papers/(cost|layered/cost|[a-z]+/(compare|opensm|speed)))$$
# Those whose tests take or wait longest come first, so that none of them is alone in the end.
LONG := /(fabricd/(cli|fabric|ledger|member|web)|harness/(sweep|verify)|subnet/dqr)$$
# Some tests of these packages do only a part under it (race_test.go). make whole runs them without it: those that PARTS names, and all of
# harness/verify. It cuts one in PAIRS of the 8128 pairs of links.
PARTLY := /(fabricd/(api|fabric|manager|scenario)|harness/(sweep|verify))$$
PAIRS  ?= 10
PARTS  := EveryPair|EveryKind|EveryFirmware|EveryEngine|OverNATS|AThousandTimes|EachOfThe128|RandomSets|FullLoad|UpDownWith|KeepsTheOrder|SmallMessages|ReRouteVector|Soak|HostsUnderFaults|ABurstOfRequests|ATorusUnderLoad|ShippedScenariosHold|KilledAtAnyByte|WhatWeClaimOf
MODULE := github.com/weft-fabric/weft
CGO  := $(shell go env CGO_ENABLED)
RACE ?= $(if $(filter 1,$(CGO)),-race)

# Documentation comments (ST1000, ST102x) are off by default.
STATICCHECKS := inherit,ST1000,ST1020,ST1021,ST1022

# Packages that keep a generated schema in docs/schema.
SCHEMA_PKG := ./fabricd/topology ./fabricd/scenario ./harness/sweep

SCENARIOS ?= $(sort $(wildcard scenarios/*.yaml scenarios/faults/*.yaml))
JUNIT     ?= bin/scenarios.xml

EXPERIMENTS ?= $(sort $(wildcard scenarios/papers/*/*.yaml))
RESULTS     ?= results
QUICK       ?=
SAMPLES     ?=

# What results are marked with. Go's own note is missing in a second work tree, and is "dirty" as soon as results are written.
REVISION := $(shell git rev-parse --short=12 HEAD 2>/dev/null)$(if $(shell git status --porcelain -- . ':!docs' 2>/dev/null),+dirty)

# A profile to build with: fabricd/speed.pgo makes virtual time 8% faster, and the first build, of all packages, minutes long.
PGO ?= off

.DEFAULT_GOAL := help
.PHONY: help test raced pure whole hosts check bench fuzz build web browser watching profile scenarios experiments soak histories crashes calm attacks proofs schema clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

test: check ## check, then run all tests (PKG, TESTFLAGS)
	@$(MAKE) --no-print-directory raced
	@$(MAKE) --no-print-directory pure

# In turn: tests of live fabrics fail on a machine with more to do than it can.
raced:
	$(if $(RACE),,@echo "no C compiler: testing without the race detector")
	@$(call ordered,grep -Ev) | xargs -r go test -vet=off $(RACE) $(TESTFLAGS)

pure:
	@$(call ordered,grep -E) | xargs -r go test -vet=off $(TESTFLAGS)

# The packages that a grep for PURE gives, the longest first.
ordered = set -e; all=$$(go list $(PKG)); list=$$(echo "$$all" | $(1) '$(PURE)' || true); \
	{ echo "$$list" | grep -E '$(LONG)' || true; echo "$$list" | grep -Ev '$(LONG)' || true; }

whole: ## run without the race detector the tests that do only a part under it (PAIRS)
	@go test -vet=off ./fabricd/fabric -run '$(PARTS)' -weft.pairs-every $(PAIRS) & fabric=$$!; \
	go list ./... | grep -E '$(PARTLY)' | grep -Ev '/(fabric|verify)$$' | xargs go test -vet=off -run '$(PARTS)' && \
		go test -vet=off ./harness/verify; others=$$?; \
	wait $$fabric && [ $$others = 0 ] # beside each other, for much of it waits

hosts: ## run a fabric over three hosts on loopback, and as root in network namespaces, through every failure of theirs, by itself
	go test -vet=off ./fabricd/cli -run 'OverThree' -count 1 -weft.hosts

check: ## vet, lint and formatting only
	go vet ./...
	go tool staticcheck -checks $(STATICCHECKS) ./...
	@if ! diff=$$(go tool gofumpt -d .) || [ -n "$$diff" ]; then \
		echo "$$diff"; echo "not formatted, run: go tool gofumpt -w ."; exit 1; \
	fi

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

watching: build ## measure the page and what it costs a fabric to be watched, in half an hour, into docs/results/web.md and watching.md
	cd fabricd/web/e2e && npm ci --no-audit --no-fund && npm run bench

profile: ## regenerate fabricd/speed.pgo, see PGO
	@mkdir -p bin
	go test ./harness/measure -run '^$$' -bench 'FatTree|Mesh|Torus' -benchtime 3s -cpuprofile $(CURDIR)/fabricd/speed.pgo -o $(CURDIR)/bin/measure.test

scenarios: build ## run every scenario in virtual time, then live, print tables, write JUnit XML (SCENARIOS, JUNIT)
	@[ -n "$(SCENARIOS)" ] || { echo "no scenarios"; exit 1; }
	bin/fabricd run $(SCENARIOS) --virtual
	bin/fabricd run $(SCENARIOS) --junit $(JUNIT)

experiments: build ## repeat the papers' experiments, overnight; QUICK=1 takes minutes (EXPERIMENTS, RESULTS, QUICK, SAMPLES)
	@for e in $(EXPERIMENTS); do \
		name=$$(basename $$e .yaml); case $$e in */layered/*) name=layered-$$name;; */direct/*) name=direct-$$name;; esac; \
		bin/fabricd sweep $$e $(if $(QUICK),--quick) $(if $(SAMPLES),--samples $(SAMPLES)) \
			--out $(RESULTS)/$$name$(if $(QUICK),-quick) || [ $$? -eq 1 ] || exit 2; \
	done # 1: a claim of ours does not hold, which the index says too
	bin/fabricd sweep --report $(RESULTS)

soak: ## random faults, and failures of hosts, processes, brokers and leaders, for hours: every packet is accounted for (HOURS)
	go test ./fabricd/fabric -run Soak -v -count 1 -timeout 0 -weft.soak $(HOURS)h -weft.soak-seed 0

crashes: ## three switches crash under load beside busy loops, hundreds of times (ROUNDS): every fabric drains
	go test ./fabricd/fabric -run ThreeCrashes -v -count 1 -timeout 0 -weft.crash-rounds $(ROUNDS)

histories: ## hold the ledger against HISTORIES random histories of hosts that fail and come back
	go test ./fabricd/ledger -run Knows -v -count 1 -timeout 0 -weft.histories $(HISTORIES)

calm: ## minutes at saturation on a busy machine: nobody is taken for dead (MINUTES)
	go test ./fabricd/fabric -run TakesNobodyForDead -v -count 1 -timeout 0 -weft.calm $(MINUTES)m

attacks: ## run every attack of the table in docs/security.md, as root for those of another user, and write its numbers anew; ten minutes
	go test ./harness/attack -run TheTable -v -count 1 -timeout 0 -weft.attacks

proofs: ## every claim of docs/proofs.md into docs/results/proofs.md; SHORT=1 those that take seconds, LIMIT=1m no longer than that each
	go test ./harness/verify -run Claims -v -count 1 -timeout 0 $(if $(SHORT),,-weft.proofs) -weft.proofs.limit $(LIMIT) \
		-weft.proofs.table ../../docs/results/proofs.md

schema: ## regenerate docs/schema
	go test $(SCHEMA_PKG) -run Schema -update

clean: ## remove what was built
	rm -rf bin
