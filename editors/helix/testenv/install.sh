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

# One installation at a time: several test packages may ask for it at once.
exec 9>"$prefix/.helix.lock"
if command -v flock >/dev/null; then flock 9; fi

missing=()
command -v patchelf >/dev/null || missing+=(patchelf)
command -v tmux >/dev/null || missing+=(tmux)
if [ ${#missing[@]} -gt 0 ]; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get -o DPkg::Lock::Timeout=300 update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq \
    --no-install-recommends "${missing[@]}" >/dev/null
fi

# The address that the system itself fetches its packages from.
mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -1)
[ -n "$mirror" ] || mirror=$(sed -nE 's/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | head -1)
[ -n "$mirror" ] || { echo "install.sh: no package source found under /etc/apt" >&2; exit 1; }

# install SUITE DIR: unpacks that suite's Helix and all it depends on into DIR.
install() {
  local suite=$1 dir=$2 new=$2.new state lib file
  ready "$dir" "$suite" && return
  rm -rf "$new"
  state=$new/.apt
  mkdir -p "$state"/{lists/partial,cache,debs/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d}
  : >"$state/status" # nothing counts as installed, so that libc and the loader come too
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$state/etc/sources.list"
  local apt=(apt-get -qq
    -o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status"
    -o Dir::Cache="$state/cache" -o Dir::Cache::archives="$state/debs"
    -o Dir::Etc::SourceList="$state/etc/sources.list" -o Dir::Etc::SourceParts="$state/etc/sources.list.d"
    -o Dir::Etc::PreferencesParts="$state/etc/preferences.d" -o Dir::Etc::Preferences=/dev/null
    -o APT::Install-Recommends=false -o Acquire::Languages=none -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
  "${apt[@]}" update
  "${apt[@]}" install -y --download-only hx >/dev/null
  for file in "$state"/debs/*.deb; do dpkg-deb -x "$file" "$new"; done
  rm -rf "$state"

  # An rpath, not a runpath: it must hold for the libraries' own libraries too.
  lib=$dir/usr/lib/$(uname -m)-linux-gnu
  patchelf --set-interpreter "$(ls "${lib/#$dir/$new}"/ld-linux-*.so.* | head -1 | sed "s|^$new|$dir|")" \
    --force-rpath --set-rpath "$lib" "$new/usr/lib/hx/hx"
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
