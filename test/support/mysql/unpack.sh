#!/bin/sh
# Unpacks MySQL itself into a folder: sh test/support/mysql/unpack.sh FOLDER
# Debian's stable suites have only MariaDB; its newest has MySQL, with the C library that it needs, so it runs beside an
# older Debian by its own loader. Nothing is installed. A folder that has it already stays as it is.
set -eu

folder=${1:?Name a folder, as: sh test/support/mysql/unpack.sh node_modules/.cache/mysql}
[ ! -x "$folder/usr/sbin/mysqld" ] || exit 0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/preferences.d"
: >"$apt/status"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)
[ -n "$mirror" ] || { echo 'Run "apt-get update" first: apt knows no Debian archive.' >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror unstable main" >"$apt/sources.list"

# An empty list of installed packages, so that all of what MySQL needs comes along.
own_apt() {
  apt-get -qq -o Dir::State::status="$apt/status" -o Dir::State::lists="$apt/lists" -o Dir::Cache::archives="$apt/archives" \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Dir::Etc::sourcelist="$apt/sources.list" \
    -o Dir::Etc::sourceparts=/nonexistent -o Dir::Etc::preferencesparts="$apt/preferences.d" -o APT::Sandbox::User=root \
    -o Debug::NoLocking=true -o APT::Install-Recommends=false -o Dir::Log="$apt" "$@"
}
log=$apt/log
if ! { own_apt update && own_apt install -y --download-only mysql-server-core; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  exit 1
fi
# Debian's folders /bin and /lib are links, which a package's files do not make.
for name in bin sbin lib lib64; do mkdir -p "$folder/usr/$name" && ln -sfn "usr/$name" "$folder/$name"; done
for package in "$apt"/archives/*.deb; do
  case ${package##*/} in base-files_* | dpkg_* | perl*) continue ;; esac
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder" --keep-directory-symlink --exclude=./usr/share/doc --exclude=./usr/share/man
done
[ -x "$folder/usr/sbin/mysqld" ] || { echo 'The packages hold no usr/sbin/mysqld.' >&2; exit 1; }
