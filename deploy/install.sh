#!/bin/sh
# Installs what `make build` made: programs, units, users' and directories'
# tables, man pages, examples. `deploy/install.sh DIR` installs below DIR, as a
# package does; `deploy/install.sh /` onto this host, as root. BIN is where the
# programs are, bin/ when it is left out. A settings file that is there already is
# left alone. Nothing is started and no user is made: what to do next is printed.
set -eu

case ${1:-} in
--help | -h)
	echo "usage: deploy/install.sh DIR [BIN]    DIR / is this host"
	echo "example: deploy/install.sh /"
	exit 0
	;;
esac
if [ $# = 0 ] || [ $# -gt 2 ]; then
	echo "usage: deploy/install.sh DIR [BIN]    DIR / is this host" >&2
	exit 2
fi
if [ ! -d "$1" ]; then
	echo "deploy/install.sh: $1 is no directory: make it first" >&2
	exit 2
fi
root=$(cd "$1" && pwd)
root=${root%/}
here=$(cd "$(dirname "$0")/.." && pwd)
bin=${2:-$here/bin}

for p in mcpd guidanced docfetchd executord mcpctl mcpsign; do
	[ -x "$bin/$p" ] || {
		echo "deploy/install.sh: $bin/$p is missing: make build" >&2
		exit 1
	}
	install -D -m 0755 "$bin/$p" "$root/usr/bin/$p"
done

copy() { # directory, files
	to=$root$1
	shift
	install -d -m 0755 "$to"
	install -m 0644 "$@" "$to"
}
from=$here/deploy/systemd
copy /usr/lib/systemd/system "$from"/units/*
copy /usr/lib/sysusers.d "$from"/sysusers.d/*
copy /usr/lib/tmpfiles.d "$from"/tmpfiles.d/*
copy /usr/share/doc/pfsense-mcp/examples "$from"/examples/*
for page in "$from"/man/*; do
	copy "/usr/share/man/man${page##*.}" "$page"
done

install -d -m 0755 "$root/etc/pfsense-mcp"
install -d -m 0700 "$root/etc/pfsense-mcp/credentials"
for daemon in mcpd guidanced docfetchd executord; do
	file=$from/examples/$daemon.toml
	name=$root/etc/pfsense-mcp/$daemon.toml
	# -h too: a link somebody made is theirs, wherever it leads.
	if [ ! -e "$name" ] && [ ! -h "$name" ]; then
		install -m 0644 "$file" "$name"
	fi
done

[ -z "$root" ] || exit 0
cat <<'NEXT'
Installed. What is left to do, as root:
  systemd-sysusers && systemd-tmpfiles --create pfsense-mcp.conf && systemctl daemon-reload
Then mcpctl setup, which asks, writes the settings and starts the daemons; or by hand:
  install -m 0600 KEYFILE /etc/pfsense-mcp/credentials/read-api-key
  edit /etc/pfsense-mcp/mcpd.toml; then mcpd serve --check-config
  name the appliance's address in /etc/systemd/system/pfsense-mcpd.service.d/appliance.conf,
    see /usr/share/doc/pfsense-mcp/examples/mcpd-appliance.conf
  usermod -aG pfsense-mcp SOMEBODY      who may run MCP clients
  systemctl enable --now pfsense-mcp.target
NEXT
