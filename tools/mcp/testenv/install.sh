#!/usr/bin/env bash
# Installs the public MCP servers that tests call into PREFIX/mcp: npm's server-everything and
# server-filesystem, in pinned versions, with their dependencies, without running any package's script.
#
#   usage: install.sh [PREFIX]      default: $REDLINE_EDITORS, else ~/.cache/redline-editors
#
# Idempotent: a second run takes milliseconds. Needs node and npm.
set -euo pipefail

VERSION=2026.8.31

prefix=${1:-${REDLINE_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/redline-editors}}
root=$prefix/mcp
want="server-everything $VERSION, server-filesystem $VERSION"

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
npm install --prefix "$root" --ignore-scripts --no-save --silent \
  "@modelcontextprotocol/server-everything@$VERSION" "@modelcontextprotocol/server-filesystem@$VERSION"
echo "$want" >"$root/.installed"
echo "$root"
