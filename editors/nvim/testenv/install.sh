#!/usr/bin/env bash
# Installs the Neovims that the tests drive into PREFIX/nvim-0.10 and PREFIX/nvim-0.12, with the libraries
# of the Debian suites they come from. Neither the system's packages nor its package state are touched:
# the packages are unpacked into the prefix, and the program is set to use the loader and libraries there.
#
#   usage: install.sh [PREFIX]      default: $REDLINE_EDITORS, else ~/.cache/redline-editors
#
# Needs apt-get, dpkg-deb and patchelf, and tmux for the tests of the screen; what is missing of the last
# two is installed. A second run takes milliseconds. The prefix cannot be moved afterwards.
set -euo pipefail
. "$(dirname "$0")/../../editortest/debian.sh"

prefix=${1:-${REDLINE_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/redline-editors}}
form=1 # of what this script makes; raise it to have everything made anew

# ready DIR SUITE: whether DIR is as this script makes it
ready() { [ "$(cat "$1/.installed" 2>/dev/null || true)" = "$form $2" ] && [ -x "$1/nvim" ]; }

if ready "$prefix/nvim-0.12" sid && ready "$prefix/nvim-0.10" trixie; then
  echo "$prefix"
  exit 0
fi
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)

lock nvim
need patchelf tmux

# install SUITE DIR: unpacks that suite's Neovim and all it depends on into DIR.
install() {
  local suite=$1 dir=$2 new=$2.new
  ready "$dir" "$suite" && return
  fetch "$suite" "$new"
  unpack "$new" neovim
  rm -rf "$new/.apt"
  relink "$new" "$dir" "$new/usr/bin/nvim"
  printf '#!/bin/sh\nexport VIMRUNTIME=%q\nexec %q "$@"\n' "$dir/usr/share/nvim/runtime" "$dir/usr/bin/nvim" >"$new/nvim"
  chmod +x "$new/nvim"
  rm -rf "$dir"
  mv "$new" "$dir"
  "$dir/nvim" --version | head -1
  echo "$form $suite" >"$dir/.installed"
}

install sid "$prefix/nvim-0.12"
install trixie "$prefix/nvim-0.10"
echo "$prefix"
