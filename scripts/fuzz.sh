#!/usr/bin/env bash
# Fuzzes each target for a while: scripts/fuzz.sh 5s
set -euo pipefail
cd "$(dirname "$0")/.."
for file in $(git grep -l 'func Fuzz' -- '*_test.go'); do
  package=./$(dirname "$file")
  for target in $(grep -oE 'func (Fuzz[A-Za-z0-9_]+)' "$file" | cut -d' ' -f2); do
    echo "fuzzing $package $target"
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${1:-5s}" -parallel 2 >/tmp/fuzz.$$ 2>&1 || {
      # At its time limit the fuzzer may report its own deadline, without a failing input.
      if grep -q 'context deadline exceeded' /tmp/fuzz.$$ && ! grep -q 'Failing input' /tmp/fuzz.$$; then continue; fi
      cat /tmp/fuzz.$$ >&2; exit 1
    }
  done
done
rm -f /tmp/fuzz.$$
