#!/usr/bin/env bash
# Builds the page into crates/view/dist, from where the Cargo build embeds it.
# With --check: builds it elsewhere and fails if the result differs from dist.
set -euo pipefail
cd "$(dirname "$0")"

# `--ignore-scripts`: esbuild's own script only replaces a wrapper by the program.
[ -d node_modules/esbuild ] || npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

dist=../dist
out=$dist
if [ "${1:-}" = --check ]; then
	out=$(mktemp -d)
	trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"
# Settings of the environment must not change the bytes, so all of them are given here.
node_modules/.bin/esbuild src/main.ts --bundle --format=iife --target=es2022 --charset=utf8 --minify \
	--legal-comments=none --log-level=warning --outfile="$out/app.js"
node_modules/.bin/esbuild src/app.css --target=es2022,chrome110,firefox110,safari16 --charset=utf8 --minify \
	--log-level=warning --outfile="$out/app.css"
cp src/index.html "$out/index.html"
# A page that is saved as one file names them in its content security policy.
node -e '
const hash = (path) => require("crypto").createHash("sha256").update(require("fs").readFileSync(path)).digest("base64");
for (const path of process.argv.slice(1)) console.log(`sha256-${hash(path)}`);
' "$out/app.css" "$out/app.js" >"$out/hashes.txt"

size=$(cat "$out/index.html" "$out/app.js" "$out/app.css" | wc -c)
if [ "$size" -ge 200000 ]; then
	echo "build.sh: the page has $size bytes, the limit is 200000" >&2
	exit 1
fi
if [ "$out" != "$dist" ]; then
	for file in index.html app.js app.css hashes.txt; do
		cmp "$out/$file" "$dist/$file" || { echo "build.sh: dist/$file is not what src makes; run build.sh" >&2; exit 1; }
	done
fi
echo "build.sh: $size bytes"
