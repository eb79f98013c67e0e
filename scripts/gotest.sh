#!/usr/bin/env bash
# go test with the arguments given. Packages that fail are run once more, alone: two packages at a time on a busy machine may
# miss a deadline of real time. What passes only then is named at the end as unsteady, and is a fault to be found. A data
# race, a panic and what does not build have no second run.
set -uo pipefail
out=$(mktemp)
trap 'rm -f "$out"' EXIT
go=${GO:-go}

if "$go" test "$@" 2>&1 | tee "$out"; then
	exit 0
fi
if grep -qE 'DATA RACE|^panic: |\[(build|setup) failed\]' "$out"; then
	exit 1
fi
failed=$(awk -F'\t' '$1 == "FAIL" && NF > 1 { print $2 }' "$out" | sort -u)
if [ -z "$failed" ]; then
	exit 1
fi
flags=()
for word in "$@"; do
	case $word in
	weir | weir/* | ./*) ;; # the packages
	*) flags+=("$word") ;;
	esac
done
echo "once more, alone: $failed"
# shellcheck disable=SC2086 # one word a package
"$go" test -p 1 -count=1 "${flags[@]}" $failed || exit 1
echo "UNSTEADY: passed only when run alone: $failed"
