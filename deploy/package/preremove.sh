#!/bin/sh
# Before the files go. deb: "remove", or "upgrade" and the like; rpm: 0 removed,
# 1 upgraded. An upgrade stops nothing.
set -eu

case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
# The sockets first: they would start a daemon again with the next connection.
systemctl disable --now pfsense-mcp.target pfsense-executord-witness.service \
	pfsense-mcpd.socket pfsense-mcpd-admin.socket pfsense-guidanced.socket \
	pfsense-docfetchd.socket pfsense-docfetchd-admin.socket \
	pfsense-executord.socket pfsense-executord-admin.socket
systemctl stop pfsense-mcpd.service pfsense-guidanced.service \
	pfsense-docfetchd.service pfsense-executord.service
