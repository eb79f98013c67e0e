#!/usr/bin/env bash
# Sees that what the tests need is here, and installs what the system's packages have; what cannot be installed is named
# with the line that installs it.
set -euo pipefail

for tool in go node npm; do
  command -v "$tool" >/dev/null || { echo "make test needs $tool, which is not on the PATH" >&2; exit 1; }
done

missing=()
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
browser=
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && browser=$name && break
done
[ -n "$browser" ] || missing+=(chromium)
# Chinese in the browser's screenshots and layout tests.
fc-list 2>/dev/null | grep -i 'noto.*cjk' >/dev/null || missing+=(fonts-noto-cjk)
# The store's tests start a PostgreSQL of their own.
command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0

line="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "make test needs packages that are not installed: sudo $line" >&2
  exit 1
fi
echo "installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
$line >/dev/null 2>&1 || { apt-get update >/dev/null && $line >/dev/null; } || { echo "could not install: $line" >&2; exit 1; }
