#!/usr/bin/env bash
# Installs other people's MCP clients below this folder, as package-lock.json pins
# them, and tries the suite with them. Where they cannot be had it says so and
# ends well; with CI=true that is a failure. make test-clients calls it.
set -euo pipefail
cd "$(dirname "$0")"

skip() {
	if [ "${CI:-}" = true ]; then
		echo "test-clients: $*" >&2
		exit 1
	fi
	echo "test-clients: skipped: $*"
	exit 0
}

command -v npm >/dev/null || skip "npm is not installed; it comes with Node"
if ! cmp -s package-lock.json node_modules/.installed; then
	# No package's script is run. The Node that runs the clients is a package too:
	# the machine's own is for npm alone, and may be older.
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || skip "npm cannot install the clients"
	cp package-lock.json node_modules/.installed
fi
[ -x node_modules/.bin/node ] || skip "there is no Node package for this machine"

cd ../..
go vet -tags grpcnotrace,clients ./test/clients
go vet -tags grpcnotrace,pfsense_fixtures ./pkg/mcpserver ./cmd/mcpd
go test -tags grpcnotrace,clients -count=1 ./test/clients
