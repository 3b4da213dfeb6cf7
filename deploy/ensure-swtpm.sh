#!/usr/bin/env bash
# Makes sure that swtpm, the TPM of the tests, is there: installs it with the
# system's package manager where that may be done, fails with what to do where
# it may not.
set -euo pipefail

if command -v swtpm >/dev/null && command -v swtpm_setup >/dev/null; then
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo "swtpm is missing and only root may install it: apt-get install swtpm swtpm-tools" >&2
	exit 1
fi
echo "installing swtpm, the TPM of the tests" >&2
if command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q
	apt-get install -qy --no-install-recommends swtpm swtpm-tools
elif command -v dnf >/dev/null; then
	dnf install -qy swtpm swtpm-tools
else
	echo "swtpm is missing and neither apt-get nor dnf is here: install swtpm and swtpm-tools" >&2
	exit 1
fi
