# Weir. `make run` builds and serves the lab; `make test` runs every test, the browser's included.
GO       ?= go
export GO
ADDR     ?= 127.0.0.1:8090
SOURCES  := $(shell find class cmd engine exercises labs testdata/golden web whole -name '*.go' -o -name '*.ts' -o -name '*.css' -o -name '*.templ' -o -name '*.json' -o -name '*.md' -o -name '*.sql' 2>/dev/null | grep -v /dist/)

.PHONY: run build pages test unit race browser lint fuzz fuzz-api bench clean

run: build
	./bin/labserver serve --addr $(ADDR)

build: bin/labserver

bin/labserver: web/static/dist/lab.js $(SOURCES) go.mod
	CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./cmd/labserver

# The pages: TypeScript and uPlot bundled by esbuild.
pages: web/static/dist/lab.js

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

web/static/dist/lab.js: node_modules/.installed $(shell find web/ts web/css -type f 2>/dev/null)
	$(GO) run ./web/build

test: scripts-check lint unit race fuzz browser

scripts-check:
	@scripts/needs.sh

# go vet, gofmt, staticcheck, templ drift, TypeScript's checker.
lint: pages
	scripts/lint.sh

# What a package may take on a machine that is busy with others.
PATIENCE = -timeout 25m
# All but the browser's tests.
PACKAGES = $$($(GO) list ./... | grep -v /browser_test)

unit: pages
	scripts/gotest.sh $(PATIENCE) $(PACKAGES)
	scripts/gotest.sh $(PATIENCE) -tags invariants ./engine/...

race: pages
	CGO_ENABLED=1 scripts/gotest.sh $(PATIENCE) -race $(PACKAGES)

fuzz:
	scripts/fuzz.sh 3s

# The API as each kind of caller, from its own description. Needs Python and a package index, so it is no part of test.
fuzz-api: pages
	scripts/fuzz_api.sh

browser: pages
	scripts/gotest.sh $(PATIENCE) -count=1 ./web/browser_test

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./engine/...

clean:
	rm -rf bin web/static/dist node_modules
