#!/usr/bin/env bash
# Writes package-lock.json anew after a change of package.json, for maintainers.
# What says where packages come from or whom to pay is left out: it names hosts,
# and npm needs none of it.
set -euo pipefail
cd "$(dirname "$0")"
npm install --package-lock-only --ignore-scripts --omit-lockfile-registry-resolved
node -e '
const fs = require("fs");
const lock = JSON.parse(fs.readFileSync("package-lock.json"));
for (const p of Object.values(lock.packages)) for (const k of ["resolved", "funding", "deprecated"]) delete p[k];
fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n");
'
