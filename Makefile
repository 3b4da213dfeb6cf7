# make            the same as make build
# make demo       build, then a whole suite with a pretend appliance; ONCE=1 ends after the conversation;
#                 WRITE=1 rehearses the write ceremony first, with an emulated TPM
# make test       every test
# make test-systemd  the package under a real systemd: boots containers, as root; some
#                 minutes; says so where the machine cannot
# make test-guest the package in a virtual machine with a TPM and a kernel of its own; needs
#                 qemu, says what lacks; some minutes, not in CI
# make test-clients  MCP clients that other people wrote, under Node, installed by npm
# make contract   what is served, written down anew: alone in its commit
# make soak       200,000 calls over 64 sessions with restarts; some minutes
# make crash      executord killed at N random moments (1,000), each settled by the next start
# make check      vet, lint, format, generated code, arch rules, dead code, licences, known vulnerabilities
# make package    dist/: .deb, .rpm, bill of materials, checksums; VERSION=1.2.3 names one
#                 without a tag
# make bench      build, then what the suite costs (docs/figures.md); PLOT=1 draws how it grows,
#                 ONLY=PATTERN takes some figures, STORES=DIR keeps the stores that it plays,
#                 GOBENCH=1 runs the Go benchmarks beside the code instead
# make generate   the Go code of proto/, and docs/tools.md
# make guidance-audit  the guidance registry against its pages: ARGS="-pages DIR" for saved
#                 ones, ARGS=-fetch for the pages themselves (a person with a network)
# make clean      remove what build made

# go.mod names the toolchain; an older local Go fetches it.
export GOTOOLCHAIN := go1.27.3

# A tree whose git cannot be asked (another owner, say) is built without its
# revision instead of not at all.
ifneq ($(shell git rev-parse HEAD >/dev/null 2>&1 && echo yes),yes)
export GOFLAGS := $(GOFLAGS) -buildvcs=false
endif

TAGS := grpcnotrace
BUILD := CGO_ENABLED=0 go build -trimpath -ldflags '-s -w'
TOOL := go tool -modfile=deploy/tools.mod

# Test doubles are programs too: bin/fakepf and the like.
programs := $(patsubst %/main.go,./%,$(wildcard cmd/*/main.go test/*/cmd/*/main.go))

# The race detector needs a C compiler, which nothing else here does.
RACE := $(shell command -v $${CC:-gcc} >/dev/null 2>&1 && echo -race)

.PHONY: arch crash build demo test test-systemd test-guest test-clients contract soak bench
.PHONY: check vet lint format generated deadcode licences vulnerabilities generate package guidance-audit clean
.DEFAULT_GOAL := build

build:
	$(BUILD) -tags $(TAGS) -o bin/ $(programs)
	$(BUILD) -tags $(TAGS),pfsense_demo -o bin/demo/ ./cmd/docfetchd ./cmd/executord

demo: build
	$(if $(filter-out 0,$(WRITE)),deploy/ensure-swtpm.sh)
	bin/mcpctl run --demo $(if $(filter-out 0,$(WRITE)),--write) $(if $(filter-out 0,$(ONCE)),--once)

# Packages that compute and share nothing between goroutines: there the race
# detector finds nothing and makes their exhaustive tests fifty times slower.
PURE := ^pfsensemcp/pkg/(catalog|readtool|textsafe|executor/internal/gate|executor/internal/posture)(/|$$)

# The suite tests start built programs, which the detector does not see.
test: vet
	deploy/ensure-swtpm.sh
	$(if $(RACE),,@echo "no C compiler: the packages are tested without the race detector")
	go test -tags $(TAGS) -count=1 -timeout 30m $(RACE) $$(go list ./pkg/... ./proto/... ./cmd/... | grep -Ev '$(PURE)')
	go test -tags $(TAGS) -count=1 -timeout 30m $$(go list ./pkg/... | grep -E '$(PURE)') ./test/... ./deploy/...
	@go test -count=1 -v -run TestEveryObligationHasATest ./test/obligations | grep '^obligations:'

# Static, because the test binary is also what tries the units' walls from inside.
test-systemd: build
	CGO_ENABLED=0 go test -tags $(TAGS) -count=1 -timeout 24m -v ./test/systemd -run TestTheSuiteUnderSystemd -boot -bin $(CURDIR)/bin

test-guest: build
	CGO_ENABLED=0 go test -tags $(TAGS) -count=1 -timeout 20m -v ./test/systemd -run TestTheSuiteInAGuest -guest -bin $(CURDIR)/bin

test-clients:
	test/clients/run.sh

contract:
	go test -tags $(TAGS) -count=1 ./test/contract -run TestTheServedSurfaceIsTheContract -update

soak:
	go test -tags $(TAGS) -count=1 -timeout 60m ./test/soak -run TestSoak -full -v

# Each is a fresh house: a TPM, a store, a process that is killed and started twice.
crash:
	deploy/ensure-swtpm.sh
	go test -tags $(TAGS) -count=1 -timeout 90m ./test/crash -v -run 'TestS6KillsAtRandom' -kills $(or $(N),1000)

# It exits 0 whatever the figures are.
bench: build
ifneq ($(filter-out 0,$(GOBENCH)),)
	go test -tags $(TAGS) -run '^$$' -bench . -benchmem ./...
else
	deploy/ensure-swtpm.sh
	go run -tags $(TAGS) ./test/bench -bin bin $(if $(filter-out 0,$(PLOT)),-plot docs/figures) $(if $(ONLY),-only '$(ONLY)') $(if $(STORES),-stores '$(STORES)')
endif

check: vet lint format generated arch deadcode licences vulnerabilities

vet:
	go vet -tags $(TAGS) ./...
	go vet -tags $(TAGS),pfsense_demo ./cmd/...

lint:
	$(TOOL) staticcheck -tags $(TAGS) ./...

deadcode:
	deploy/deadcode.sh

licences:
	go run ./deploy/release -licences

vulnerabilities:
	go run ./deploy/vulns

# Layers, links, calls, sizes, dependency lists.
arch:
	go test -tags $(TAGS) -count=1 ./test/arch

format:
	@files=$$($(TOOL) gofumpt -l cmd deploy pkg test proto | grep -v '\.pb\.go$$' || true); \
	if [ -n "$$files" ]; then echo "not formatted (gofumpt -w):"; echo "$$files"; exit 1; fi

generated:
	deploy/generate.sh --check

generate:
	deploy/generate.sh

# Two runs over one tree make the same bytes.
package:
	go run ./deploy/release $(if $(VERSION),-version '$(VERSION)')

clean:
	rm -rf bin dist

# No test and no daemon runs this.
guidance-audit:
	go run ./test/guidanceaudit $(ARGS)
