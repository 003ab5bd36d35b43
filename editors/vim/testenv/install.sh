#!/usr/bin/env bash
# Installs what the test of plain Vim drives: Debian's vim and vim-ale, and tmux. They are the system's
# packages, for ALE is a plugin without a program of its own. A second run takes milliseconds.
#
#   usage: install.sh
set -euo pipefail
. "$(dirname "$0")/../../editortest/debian.sh"

need tmux vim
if [ ! -e /usr/share/vim-ale/plugin/ale.vim ]; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get -o DPkg::Lock::Timeout=300 update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends vim-ale >/dev/null
fi
