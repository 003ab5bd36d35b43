#!/usr/bin/env bash
# Installs the Emacs that the tests drive into PREFIX/emacs-30 (the program PREFIX/emacs-30/emacs), with the
# libraries of the Debian suite it comes from, and package-lint into PREFIX/emacs-30/package-lint. Neither the
# system's packages nor its package state are touched: the packages are unpacked into the prefix, and the
# program is set to use the loader and libraries there.
#
#   usage: install.sh [PREFIX]      default: $REDLINE_EDITORS, else ~/.cache/redline-editors
#
# Needs apt-get, dpkg-deb and patchelf, and tmux for the tests of the screen; what is missing of the last
# two is installed. A second run takes milliseconds. The prefix cannot be moved afterwards.
set -euo pipefail

prefix=${1:-${REDLINE_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/redline-editors}}
suite=trixie
form=2 # of what this script makes; raise it to have everything made anew

ready() { [ "$(cat "$prefix/emacs-30/.installed" 2>/dev/null || true)" = "$form $suite" ] && [ -x "$prefix/emacs-30/emacs" ]; }

if ready; then
  echo "$prefix"
  exit 0
fi
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)

# One installation at a time: several test packages may ask for it at once.
exec 9>"$prefix/.emacs.lock"
if command -v flock >/dev/null; then flock 9; fi
if ready; then
  echo "$prefix"
  exit 0
fi

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

dir=$prefix/emacs-30
new=$dir.new
rm -rf "$new"
state=$new/.apt
mkdir -p "$state"/{lists/partial,cache,debs/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d}
: >"$state/status" # nothing counts as installed, so that libc and the loader come too
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$state/etc/sources.list"
apt=(apt-get -qq
  -o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status"
  -o Dir::Cache="$state/cache" -o Dir::Cache::archives="$state/debs"
  -o Dir::Etc::SourceList="$state/etc/sources.list" -o Dir::Etc::SourceParts="$state/etc/sources.list.d"
  -o Dir::Etc::PreferencesParts="$state/etc/preferences.d" -o Dir::Etc::Preferences=/dev/null
  -o APT::Install-Recommends=false -o Acquire::Languages=none -o Debug::NoLocking=1 -o APT::Sandbox::User=root)
"${apt[@]}" update
"${apt[@]}" install -y --download-only emacs-nox >/dev/null
for file in "$state"/debs/*.deb; do dpkg-deb -x "$file" "$new"; done

# package-lint is plain elisp: its own package and the one library it needs, not their closure.
mkdir -p "$new/package-lint" "$state/lint"
(cd "$state/lint" && "${apt[@]}" download elpa-package-lint elpa-compat >/dev/null)
for file in "$state"/lint/*.deb; do dpkg-deb -x "$file" "$state/lint"; done
find "$state/lint/usr/share" -path '*/elpa*' \( -name '*.el' -o -path '*/data/*' \) -type f | while read -r file; do
  case $file in
    */data/*) mkdir -p "$new/package-lint/data"; cp "$file" "$new/package-lint/data/" ;;
    *-pkg.el | *-autoloads.el) ;;
    *) cp "$file" "$new/package-lint/" ;;
  esac
done
rm -rf "$state" "$new/usr/share/doc" "$new/usr/share/man" "$new/usr/share/info"

# An rpath, not a runpath: it must hold for the libraries' own libraries too.
lib=$dir/usr/lib/$(uname -m)-linux-gnu
loader=$(ls "${lib/#$dir/$new}"/ld-linux-*.so.* | head -1 | sed "s|^$new|$dir|")
find "$new/usr/bin" "$new/usr/libexec/emacs" -type f | while read -r file; do
  patchelf --print-interpreter "$file" >/dev/null 2>&1 || continue
  patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$lib" "$file"
done

# Its folders are told by the environment, since it was built for /usr. No native compilation: libgccjit
# finds no crt files under a prefix.
version=$(basename "$new"/usr/share/emacs/[0-9]*)
libexec=$(cd "$new" && echo usr/libexec/emacs/"$version"/*-linux-gnu)
dump=$(cd "$new/$libexec" && ls *.pdmp | head -1)
lisp=$(cd "$new" && find "usr/share/emacs/$version/lisp" -type d | sed "s|^|$dir/|" | paste -sd:)
cat >"$new/emacs" <<J
#!/bin/sh
export EMACSDATA='$dir/usr/share/emacs/$version/etc' EMACSDOC='$dir/usr/share/emacs/$version/etc'
export EMACSPATH='$dir/$libexec' EMACSLOADPATH='$lisp'
exec '$dir/usr/bin/emacs-nox' --dump-file='$dir/$libexec/$dump' --eval '(setq native-comp-jit-compilation nil native-comp-enable-subr-trampolines nil)' "\$@"
J
chmod +x "$new/emacs"
rm -rf "$dir"
mv "$new" "$dir"
"$dir/emacs" -Q --batch -L "$dir/package-lint" --eval '(setq byte-compile-warnings nil)' \
  -f batch-byte-compile "$dir"/package-lint/package-lint.el >/dev/null 2>&1
"$dir/emacs" --batch --eval '(princ (format "%s\n" emacs-version))'
echo "$form $suite" >"$dir/.installed"
echo "$prefix"
