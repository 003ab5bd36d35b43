#!/usr/bin/env bash
# Installs the Helixes that the tests drive into PREFIX/helix-25.01 and PREFIX/helix-25.07, with the
# libraries of the Debian suites they come from. Neither the system's packages nor its package state are
# touched: the packages are unpacked into the prefix, and the program is set to use the loader and the
# libraries there. Language servers that Helix starts use those of the system.
#
#   usage: install.sh [PREFIX]      default: $REDLINE_EDITORS, else ~/.cache/redline-editors
#
# Needs apt-get, dpkg-deb, patchelf and tmux; what is missing of the last two is installed. A second run
# takes milliseconds. The prefix cannot be moved afterwards.
set -euo pipefail
. "$(dirname "$0")/../../editortest/debian.sh"

prefix=${1:-${REDLINE_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/redline-editors}}
form=1 # of what this script makes; raise it to have everything made anew

# ready DIR SUITE: whether DIR is as this script makes it
ready() {
  local made=
  read -r made 2>/dev/null <"$1/.installed" || true
  [ "$made" = "$form $2" ] && [ -x "$1/hx" ]
}

if ready "$prefix/helix-25.07" sid && ready "$prefix/helix-25.01" trixie && command -v tmux >/dev/null; then
  echo "$prefix"
  exit 0
fi
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)

lock helix
need patchelf tmux

# install SUITE DIR: unpacks that suite's Helix and all it depends on into DIR.
install() {
  local suite=$1 dir=$2 new=$2.new
  ready "$dir" "$suite" && return
  fetch "$suite" "$new"
  unpack "$new" hx
  rm -rf "$new/.apt"
  relink "$new" "$dir" "$new/usr/lib/hx/hx"
  printf '#!/bin/sh\nexport HELIX_RUNTIME=%q\nexec %q "$@"\n' "$dir/usr/lib/hx/runtime" "$dir/usr/lib/hx/hx" >"$new/hx"
  chmod +x "$new/hx"
  rm -rf "$dir"
  mv "$new" "$dir"
  "$dir/hx" --version
  echo "$form $suite" >"$dir/.installed"
}

install trixie "$prefix/helix-25.01"
install sid "$prefix/helix-25.07"
echo "$prefix"
