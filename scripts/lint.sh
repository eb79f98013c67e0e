#!/usr/bin/env bash
# The checks that need no run: formatting, vet, staticcheck, drift of generated code, TypeScript's types.
set -euo pipefail
cd "$(dirname "$0")/.."

unformatted=$(gofmt -l $(git ls-files '*.go'))
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted" >&2; exit 1; }
go vet ./...
go vet -tags invariants ./engine/...
# A starter has what a learner is to use; nothing does yet.
go tool staticcheck $(go list ./... | grep -v /starter$)

# Generated templ code is committed; it must be what its templates give.
before=$(git hash-object $(git ls-files '*_templ.go') | sort)
go tool templ generate -path web >/dev/null 2>&1
after=$(git hash-object $(git ls-files '*_templ.go') | sort)
[ "$before" = "$after" ] || { echo "the generated templ code is not that of its templates: run 'go tool templ generate -path web' and commit it" >&2; exit 1; }

npx tsc --noEmit
