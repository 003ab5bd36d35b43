# What the install scripts of editors that come from Debian's packages share; to be sourced by bash.
# Packages of a newer suite are unpacked into a folder with all they depend on, and their programs are
# set to use the loader and the libraries there: neither the system's packages nor its package state are
# touched, and what the editor starts uses the system's libraries. The folder cannot be moved afterwards.

# lock NAME: one installation at a time, for several test packages may ask for it at once.
lock() {
  exec 9>"$prefix/.$1.lock"
  if command -v flock >/dev/null; then flock 9; fi
}

# need PROGRAM...: installs those that are missing; each is a package of its own name.
need() {
  local missing=() sudo= p
  for p in "$@"; do command -v "$p" >/dev/null || missing+=("$p"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get -o DPkg::Lock::Timeout=300 update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq \
    --no-install-recommends "${missing[@]}" >/dev/null
}

# fetch SUITE DIR: makes DIR anew and in it DIR/.apt, the state of an apt of its own for that suite; the
# array apt is how to call it. Remove DIR/.apt when done.
fetch() {
  local suite=$1 dir=$2 state=$2/.apt mirror
  # The address that the system itself fetches its packages from.
  mirror=$(sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -1)
  [ -n "$mirror" ] || mirror=$(sed -nE 's/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | head -1)
  [ -n "$mirror" ] || { echo "install.sh: no package source found under /etc/apt" >&2; exit 1; }
  rm -rf "$dir"
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
}

# unpack DIR PACKAGE: unpacks a package and all it depends on into DIR, which fetch has made.
unpack() {
  local file
  "${apt[@]}" install -y --download-only "$2" >/dev/null
  for file in "$1"/.apt/debs/*.deb; do dpkg-deb -x "$file" "$1"; done
}

# relink NEW DIR PROGRAM...: sets programs below NEW to use the loader and libraries of DIR, where NEW
# will be. What is no program with a loader is left alone.
relink() {
  local new=$1 dir=$2 arch loader file
  shift 2
  arch=$(uname -m)-linux-gnu
  # Older suites have some in /lib.
  loader=$dir/$(cd "$new" && ls {usr/lib,lib}/"$arch"/ld-linux-*.so.* 2>/dev/null | head -1 || true)
  for file in "$@"; do
    patchelf --print-interpreter "$file" >/dev/null 2>&1 || continue
    # An rpath, not a runpath: it must hold for the libraries' own libraries too.
    patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$dir/usr/lib/$arch:$dir/lib/$arch" "$file"
  done
}
