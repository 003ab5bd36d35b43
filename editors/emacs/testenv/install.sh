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
. "$(dirname "$0")/../../editortest/debian.sh"

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

lock emacs
if ready; then
  echo "$prefix"
  exit 0
fi

need patchelf tmux

dir=$prefix/emacs-30
new=$dir.new
fetch "$suite" "$new"
unpack "$new" emacs-nox

# package-lint is plain elisp: its own package and the one library it needs, not their closure.
state=$new/.apt
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
