#!/usr/bin/env bash
# Names the packages that no program links and the functions that no program
# reaches, whatever tags it is built with; says nothing where there is none. Run by
# `make check`, from anywhere. What only tests call is dead too: it ships, and
# nobody needs it. Test doubles are packages of their own, NAMEtest.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOTOOLCHAIN="${GOTOOLCHAIN:-go1.27.3}"
export LC_ALL=C # one order for sort and comm

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
# Doubles of the tests, NAMEtest, ship in no program.
comm -12 "$tmp/shipped" "$tmp/demo" | comm -12 - "$tmp/fixtures" | grep -v '^[^. ]*test\.' >"$tmp/dead" || true
grep -v '^#\|^$' deploy/deadcode.txt | sed 's/ .*//; s/^/pfsensemcp\//' | sort >"$tmp/kept"
comm -23 "$tmp/dead" "$tmp/kept" >"$tmp/new"
comm -13 "$tmp/dead" "$tmp/kept" >"$tmp/stale"
if [ -s "$tmp/new" ]; then
	echo "no program reaches these functions:"
	cat "$tmp/new"
fi
if [ -s "$tmp/stale" ]; then
	echo "deploy/deadcode.txt has these, and they are gone or reached:"
	cat "$tmp/stale"
fi
[ ! -s "$tmp/new" ] && [ ! -s "$tmp/stale" ]
