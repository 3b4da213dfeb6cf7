#!/bin/sh
# After the files are there. deb: "configure" and the version before, if any;
# rpm: 1 installed, 2 upgraded.
set -eu

upgrade=no
case "$1" in
configure) [ -z "${2:-}" ] || upgrade=yes ;;
1) ;;
2) upgrade=yes ;;
*) exit 0 ;;
esac

systemd-sysusers pfsense-mcp.conf
systemd-tmpfiles --create pfsense-mcp.conf
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ "$upgrade" = yes ]; then
	# Only what runs; executord settles a change that was sent before it ends.
	systemctl try-restart pfsense-guidanced.service pfsense-docfetchd.service \
		pfsense-executord.service pfsense-mcpd.service pfsense-executord-witness.service
fi
