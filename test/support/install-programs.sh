#!/bin/sh
# Installs the programs the tests start privately if they are missing: MariaDB, SQLite's shell, Redis, nginx, Apache,
# PHP, and those named by arguments as program:package. Needs root or a sudo without a password. Leaves no service
# running.
set -eu

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

# A PHP library that Joomla brings. Debian has it only inside WordPress's package, which is unpacked and not installed.
sodium_compat="$(cd "$(dirname "$0")/../.." && pwd)/node_modules/.cache/sodium_compat"
unpack_sodium_compat() (
  [ ! -d "$sodium_compat" ] || exit 0
  unpacked=$(mktemp -d)
  trap 'rm -rf "$unpacked"' EXIT
  cd "$unpacked"
  inside=usr/share/wordpress/wp-includes/sodium_compat
  apt-get download wordpress && dpkg-deb --fsys-tarfile wordpress_*.deb | tar -x "./$inside" &&
    mkdir -p "${sodium_compat%/*}" && mv "$inside" "$sodium_compat"
)

# program:package
missing=''
for pair in mariadbd:mariadb-server-core mariadb-install-db:mariadb-server-core mariadb:mariadb-client-core \
  mariadb-dump:mariadb-client sqlite3:sqlite3 redis-server:redis-server nginx:nginx apache2:apache2-bin php:php-cli \
  php-fpm:php-fpm php-xml:php-xml php-curl:php-curl "$@"; do
  program=${pair%%:*}
  package=${pair#*:}
  if [ "$program" = php-fpm ]; then
    # The binary's name contains the version.
    ls /usr/sbin/php-fpm* >/dev/null 2>&1 && continue
  elif [ "$program" = php-xml ]; then
    # An extension, for reading update XML with Joomla's parser.
    php -m 2>/dev/null | grep -qix xml && continue
  elif [ "$program" = php-curl ]; then
    # An extension, which Joomla sends its requests with.
    php -m 2>/dev/null | grep -qix curl && continue
  else
    command -v "$program" >/dev/null 2>&1 && continue
  fi
  case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
done
if [ -z "$missing" ] && unpack_sodium_compat >/dev/null 2>&1; then exit 0; fi

if [ "$(id -u)" = 0 ]; then
  as_root=''
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root='sudo -n'
else
  as_root='none'
fi
if [ "$as_root" = none ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "Programs are needed that are not installed. As root, run:" >&2
  echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
  echo "Without Debian's packages, also copy the PHP library paragonie/sodium_compat to $sodium_compat" >&2
  exit 1
fi

echo "Installing what is needed and this machine has not:${missing:- sodium_compat}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
running() { systemctl list-units --type=service --state=running --no-legend --plain 2>/dev/null | cut -d' ' -f1 | sort; }
enabled() { systemctl list-unit-files --type=service --state=enabled --no-legend 2>/dev/null | cut -d' ' -f1 | sort; }
before=$(mktemp)
after=$(mktemp)
trap 'rm -f "$log" "$before" "$after"' EXIT
{ running; enabled; } | sort -u >"$before"

# Without this policy, Debian starts a server when it is installed.
policy=/usr/sbin/policy-rc.d
made_policy=no
if [ ! -e "$policy" ]; then
  made_policy=yes
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod 755 "$policy"
fi
status=0
# --no-remove, because MariaDB's programs would replace an installed MySQL.
{
  $as_root apt-get update && unpack_sodium_compat &&
    $as_root apt-get install -y --no-remove --no-install-recommends $missing
} >"$log" 2>&1 || status=$?
[ "$made_policy" = no ] || $as_root rm -f "$policy"
if [ "$status" != 0 ]; then
  tail -n 20 "$log" >&2
  echo "Installing failed. As root, run: apt-get update && apt-get install --no-install-recommends$missing" >&2
  exit 1
fi

# Keep new services from starting with the machine.
{ running; enabled; } | sort -u >"$after"
for unit in $(comm -13 "$before" "$after"); do
  case "$unit" in apache2* | mariadb* | mysql* | redis* | nginx* | php*) $as_root systemctl disable --now "$unit" >/dev/null 2>&1 || true ;; esac
done
