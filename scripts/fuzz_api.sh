#!/usr/bin/env bash
# Sends what the OpenAPI document allows, and what it does not, to a server for one person and to a server of classes as
# each kind of caller. Fails if an answer is a 5xx, or one that the document does not have. Usage: scripts/fuzz_api.sh
# [EXAMPLES]; `make fuzz-api` is the same. schemathesis is installed once, into the user's cache folder.
set -euo pipefail
cd "$(dirname "$0")/.."
examples=${1:-25}
version=4.32.5

venv=${XDG_CACHE_HOME:-$HOME/.cache}/weir/schemathesis-$version
if ! "$venv/bin/schemathesis" --version 2>/dev/null | grep -qF "version $version"; then
  echo "installing schemathesis $version in $venv" >&2
  rm -rf "$venv"
  if ! python3 -m venv "$venv"; then
    rm -rf "$venv"
    echo "fuzz-api needs Python 3.10 or newer with venv: apt-get install -y python3-venv" >&2
    exit 1
  fi
  if ! "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"; then
    rm -rf "$venv"
    echo "fuzz-api needs schemathesis $version, and pip cannot install it (above is why): give this machine a package index that pip reaches, or run make fuzz-api on one that has it" >&2
    exit 1
  fi
fi

dir=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$dir"
}
trap cleanup EXIT
CGO_ENABLED=0 "${GO:-go}" build -o "$dir/labserver" ./cmd/labserver

# serve NAME ARGS…: starts a server and waits until it has said what it has to; its address is in $url.
serve() {
  local name=$1; shift
  "$dir/labserver" serve --addr 127.0.0.1:0 --data "$dir/$name" "$@" >"$dir/$name.out" 2>"$dir/$name.err" &
  pids+=($!)
  for _ in $(seq 300); do
    if grep -q "${wait_for:-listening on}" "$dir/$name.out"; then
      url=$(sed -n 's/^listening on //p' "$dir/$name.out")
      return
    fi
    sleep 0.1
  done
  cat "$dir/$name.err" >&2
  echo "the server $name did not start" >&2
  exit 1
}

# fuzz WHO URL TOKEN SESSION [OPTION…]: runs schemathesis as one caller, with a session that is there.
# Calls that would end the caller, its class or its session are left out: what comes after them would meet 401 and 404 only.
fuzz() {
  local who=$1 url=$2 token=$3 session=$4
  shift 4
  cat >"$dir/$who.toml" <<TOML
seed = 7

[[operations]]
include-path-regex = "^/api/v1/sessions/.id."
parameters = { "path.id" = "$session" }

[[operations]]
include-operation-id = ["delete-me", "delete-class", "end-session"]
enabled = false
TOML
  local header=()
  [ -z "$token" ] || header=(--header "Authorization: Bearer $token")
  echo "== $who" >&2
  # In the temporary folder, for it writes down what it found beside.
  (cd "$dir" && exec "$venv/bin/schemathesis" --config-file "$who.toml" run "$url/api/openapi.json" --url "$url" \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance --max-examples "$examples" --phases examples,coverage,fuzzing --rate-limit 35/s --request-timeout 30 \
    --no-color "${header[@]}" "$@") >"$dir/$who.log" 2>&1 ||
    { cat "$dir/$who.log"; echo "the fuzz as $who found something" >&2; exit 1; }
  tail -n 12 "$dir/$who.log" >&2
}

start_session() {
  curl -fsS -X POST "$1/api/v1/sessions" -H "Content-Type: application/json" ${2:+-H "Authorization: Bearer $2"} -d '{"lab":"backpressure"}' |
    sed -n 's/.*"id":"\([^"]*\)".*/\1/p'
}

serve alone
fuzz owner "$url" "" "$(start_session "$url")"

wait_for="join code: " serve class --class --sessions-per-learner 2
code=$(sed -n 's/^join code: //p' "$dir/class.out")
instructor=$(sed -n 's|^instructor link: .*/class/i/||p' "$dir/class.out")
join() {
  curl -fsS -X POST "$url/api/v1/class/join" -H "Content-Type: application/json" -d "{\"code\":\"$code\",\"name\":\"$1\"}" |
    sed -n 's/.*"token":"\([^"]*\)".*/\1/p'
}
learner=$(join Fuzz)
session=$(start_session "$url" "$learner")
fuzz nobody "$url" "" "$session" --max-examples 3
fuzz learner "$url" "$learner" "$session"
# Others' things are not there for these two: that is all that can go wrong with them.
fuzz other-learner "$url" "$(join Other)" "$session" --max-examples 3
other=$(curl -fsS -X POST "$url/api/v1/classes" -H "Content-Type: application/json" -H "Authorization: Bearer $instructor" -d '{"name":"Other"}' |
  sed -n 's|.*/class/i/\([^"]*\)".*|\1|p')
fuzz other-instructor "$url" "$other" "$session" --max-examples 3
fuzz instructor "$url" "$instructor" "$session"

if grep -h 'panic\|level=ERROR' "$dir"/*.err; then
  echo "the fuzz had the server log an error" >&2
  exit 1
fi
echo "no 5xx"
