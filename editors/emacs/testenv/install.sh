#!/usr/bin/env bash
# Installs what the tests drive below PREFIX, with the libraries of the Debian suites it comes from:
#   PREFIX/emacs-30     Emacs 30 (the program emacs in it), package-lint, and lsp-mode with what it needs
#   PREFIX/emacs-28     Emacs 28 with the compat library, which stands in for Emacs 29: no suite has that
#                       any more, and what is built into 28 is older than what is built into 29
# Neither the system's packages nor its package state are touched: the packages are unpacked into the
# prefix, and the programs are set to use the loader and libraries there.
#
#   usage: install.sh [PREFIX]      default: $REDLINE_EDITORS, else ~/.cache/redline-editors
#
# Needs apt-get, dpkg-deb and patchelf, tmux for the tests of the screen, and makeinfo for the manual's;
# what is missing of the last three is installed. A second run takes milliseconds. The prefix cannot be
# moved afterwards.
set -euo pipefail
. "$(dirname "$0")/../../editortest/debian.sh"

prefix=${1:-${REDLINE_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/redline-editors}}
form=3 # of what this script makes; raise it to have everything made anew

# ready DIR SUITE: whether DIR is as this script makes it
ready() { [ "$(cat "$1/.installed" 2>/dev/null || true)" = "$form $2" ] && [ -x "$1/emacs" ]; }
all() { ready "$prefix/emacs-30" trixie && ready "$prefix/emacs-28" bookworm && command -v makeinfo >/dev/null; }

if all; then
  echo "$prefix"
  exit 0
fi
mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)

lock emacs
if all; then
  echo "$prefix"
  exit 0
fi
need patchelf tmux
command -v makeinfo >/dev/null || need texinfo

# libraries NEW TO PACKAGE...: puts the plain elisp of packages, not their closure, into TO.
libraries() {
  local state=$1/.apt to=$2 file
  shift 2
  mkdir -p "$to" "$state/lisp"
  (cd "$state/lisp" && "${apt[@]}" download "$@" >/dev/null)
  for file in "$state"/lisp/*.deb; do dpkg-deb -x "$file" "$state/lisp"; done
  find "$state/lisp/usr/share" -path '*/elpa*' \( -name '*.el' -o -path '*/data/*' \) -type f | while read -r file; do
    case $file in
      */data/*) mkdir -p "$to/data"; cp "$file" "$to/data/" ;;
      *-pkg.el | *-autoloads.el) ;;
      *) cp "$file" "$to/" ;;
    esac
  done
  rm -rf "$state/lisp"
}

# install SUITE DIR: unpacks that suite's Emacs and all it depends on into DIR.new.
install() {
  local suite=$1 dir=$2 new=$2.new programs version libexec dump lisp
  fetch "$suite" "$new"
  unpack "$new" emacs-nox
  rm -rf "$new"/usr/share/{doc,man,info} "$new"/usr/include
  mapfile -t programs < <(find "$new/usr/bin" "$new/usr/libexec/emacs" -type f)
  relink "$new" "$dir" "${programs[@]}"

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
exec '$dir/usr/bin/emacs-nox' --dump-file='$dir/$libexec/$dump' --eval '(setq native-comp-jit-compilation nil native-comp-deferred-compilation nil native-comp-enable-subr-trampolines nil comp-enable-subr-trampolines nil)' "\$@"
J
  chmod +x "$new/emacs"
}

# finish SUITE DIR: puts DIR.new in the place of DIR.
finish() {
  rm -rf "$2" "$2.new/.apt"
  mv "$2.new" "$2"
  "$2/emacs" --batch --eval '(princ (format "%s\n" emacs-version))'
  echo "$form $1" >"$2/.installed"
}

dir=$prefix/emacs-30
if ! ready "$dir" trixie; then
  install trixie "$dir"
  libraries "$dir.new" "$dir.new/package-lint" elpa-package-lint elpa-compat
  libraries "$dir.new" "$dir.new/lsp-mode" elpa-lsp-mode elpa-dash elpa-f elpa-ht elpa-lv elpa-markdown-mode elpa-s elpa-spinner
  finish trixie "$dir"
  "$dir/emacs" -Q --batch -L "$dir/package-lint" --eval '(setq byte-compile-warnings nil)' \
    -f batch-byte-compile "$dir"/package-lint/package-lint.el >/dev/null 2>&1
  "$dir/emacs" -Q --batch -L "$dir/lsp-mode" --eval '(setq byte-compile-warnings nil)' \
    -f batch-byte-compile "$dir"/lsp-mode/{s,dash,f,ht,lv,spinner,markdown-mode,lsp-protocol,lsp-mode}.el >/dev/null 2>&1
fi
dir=$prefix/emacs-28
if ! ready "$dir" bookworm; then
  install bookworm "$dir"
  libraries "$dir.new" "$dir.new/compat" elpa-compat
  finish bookworm "$dir"
fi
echo "$prefix"
