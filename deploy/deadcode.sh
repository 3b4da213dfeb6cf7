#!/usr/bin/env bash
# Names the packages that no program links and the functions that no program
# reaches, whatever tags it is built with; says nothing where there is none. Run by
# `make check`, from anywhere. What only tests call is dead too: it ships, and
# nobody needs it. Test doubles are packages of their own, NAMEtest.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOTOOLCHAIN="${GOTOOLCHAIN:-go1.27.3}"

tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT

comm -13 <(go list -deps -tags grpcnotrace ./cmd/... ./test/... ./deploy/... | sort) \
	<(go list ./pkg/... | grep -v 'test$' | sort) >"$tmp/unlinked"
if [ -s "$tmp/unlinked" ]; then
	echo "no program links these packages:"
	cat "$tmp/unlinked"
	exit 1
fi

# Every program of the tree, those of the tests too: a function that only the
# pretend appliance uses is alive. Only what ships is judged.
for set in shipped demo fixtures; do
	case $set in
	shipped) tags=grpcnotrace ;;
	*) tags=grpcnotrace,pfsense_$set ;;
	esac
	go tool -modfile=deploy/tools.mod deadcode -tags "$tags" -filter '^pfsensemcp/(pkg|cmd)(/|$)' \
		-f '{{$p := .Path}}{{range .Funcs}}{{printf "%s.%s\n" $p .Name}}{{end}}' \
		./cmd/... ./test/... ./deploy/... | sort -u >"$tmp/$set"
done
comm -12 "$tmp/shipped" "$tmp/demo" | comm -12 - "$tmp/fixtures" >"$tmp/dead"
if [ -s "$tmp/dead" ]; then
	echo "no program reaches these functions:"
	cat "$tmp/dead"
	exit 1
fi
