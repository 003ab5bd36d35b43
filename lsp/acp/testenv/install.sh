#!/usr/bin/env bash
# Installs what the tests of the Agent Client Protocol drive redline with into PREFIX/acp: the official SDK,
# whose client speaks with it and whose JSON schema every message is checked by, and acpx, a client for the
# command line. Pinned, without running any package's script.
#
#   usage: install.sh [PREFIX]      default: $REDLINE_EDITORS, else ~/.cache/redline-editors
#
# Idempotent: a second run takes milliseconds. Needs node and npm.
set -euo pipefail

SDK=2.4.0
ACPX=0.19.1

prefix=${1:-${REDLINE_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/redline-editors}}
root=$prefix/acp
want="sdk $SDK, acpx $ACPX"

if [ "$(cat "$root/.installed" 2>/dev/null || true)" = "$want" ]; then
  echo "$root"
  exit 0
fi
mkdir -p "$root"
root=$(cd "$root" && pwd)
exec 9>"$root/.lock" # one installation at a time
if command -v flock >/dev/null; then flock 9; fi

export npm_config_loglevel=error npm_config_fund=false npm_config_audit=false
echo '{"private": true}' >"$root/package.json"
npm install --prefix "$root" --ignore-scripts --no-save --silent "@agentclientprotocol/sdk@$SDK" "acpx@$ACPX"
echo "$want" >"$root/.installed"
echo "$root"
