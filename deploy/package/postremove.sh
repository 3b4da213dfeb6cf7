#!/bin/sh
# After the files are gone. deb: "remove", "purge" and others; rpm: 0 removed, 1
# upgraded. Users stay: their numbers may be on files of theirs.
#
# The contract store says what was changed on the firewall, and by whose word. No
# purge takes it, its keys or the owners' public keys along, unless it is told:
#   PFSENSE_MCP_PURGE_STORE=yes dpkg --purge pfsense-mcp
set -eu

case "$1" in
remove | purge | 0) ;;
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
rm -rf /run/pfsense-mcp
[ "$1" = purge ] || exit 0

dropins=/etc/systemd/system
rm -f /etc/pfsense-mcp/credentials/read-api-key /etc/credstore.encrypted/pfsense-mcpd.read-api-key \
	/etc/pfsense-mcp/appliance-ca.pem /var/lib/pfsense-mcp/setup.json \
	$dropins/pfsense-mcpd.service.d/appliance.conf $dropins/pfsense-mcpd.service.d/encrypted-key.conf \
	$dropins/pfsense-docfetchd.service.d/resolver.conf
if [ "${PFSENSE_MCP_PURGE_STORE:-}" = yes ]; then
	rm -rf /var/lib/pfsense-executord /etc/pfsense-mcp
	rm -f /etc/credstore.encrypted/pfsense-executord.* $dropins/pfsense-executord.service.d/write.conf
elif [ -e /var/lib/pfsense-executord ]; then
	echo "pfsense-mcp: the contract store in /var/lib/pfsense-executord stays, with its keys" >&2
fi
# What is left in them is a person's.
for dir in /etc/pfsense-mcp/credentials /etc/pfsense-mcp /var/lib/pfsense-mcp \
	$dropins/pfsense-mcpd.service.d $dropins/pfsense-docfetchd.service.d $dropins/pfsense-executord.service.d; do
	rmdir "$dir" 2>/dev/null || true
done
