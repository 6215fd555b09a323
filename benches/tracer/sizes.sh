#!/usr/bin/env bash
# Sizes of programs that record the same five events: examples/embedded, and the C that barectf generates.
#     benches/tracer/sizes.sh
# Needs gcc, size (binutils) and python3, whose packages it downloads.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
example=$here/../../examples/embedded
target=$(cd "$here/../.." && pwd)/target/tracer-sizes
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/python"
# barectf asks for versions that do not install any more. Later ones do as well.
"$scratch/python/bin/pip" -q install --no-deps barectf==3.1.2
"$scratch/python/bin/pip" -q install 'jinja2<4' 'jsonschema<4' pyyaml termcolor 'setuptools<81' 2>/dev/null
"$scratch/python/bin/barectf" generate --code-dir="$scratch" --headers-dir="$scratch" \
	--metadata-dir="$scratch" "$here/barectf.yaml"
flags=(-Os -flto -ffunction-sections -fdata-sections -Wl,--gc-sections -s)
gcc "${flags[@]}" -I"$scratch" -o "$scratch/barectf" "$here/embedded.c" "$scratch/barectf.c"
echo 'int main(void) { return 0; }' >"$scratch/empty.c"
gcc "${flags[@]}" -o "$scratch/empty" "$scratch/empty.c"

build() { "${CARGO:-cargo}" build --release --quiet --locked --manifest-path "$example/Cargo.toml" --target-dir "$target" "$@"; }
build
cp "$target/release/ichnos-example-embedded" "$scratch/ours-with-metadata"
build --no-default-features
cp "$target/release/ichnos-example-embedded" "$scratch/ours"
if [ -n "${KEEP:-}" ]; then cp -r "$scratch" "$KEEP"; fi
for program in empty barectf ours ours-with-metadata; do
	size "$scratch/$program" | awk -v program=$program 'NR == 2 { print program ": code " $1 ", data " $2 + $3 }'
done
