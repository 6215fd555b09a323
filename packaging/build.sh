#!/usr/bin/env bash
# Builds what packages contain: packaging/build.sh [--archive] [--deb] [--container] [--duckdb] [--python]
#
# Without an argument, only the archive. Everything is put into target/packages. Variables:
#   PROFILE  Cargo profile (default: dist, the fastest program)
#   TARGET   target (default: x86_64-unknown-linux-musl or its like if its standard library is
#            installed, otherwise that of the compiler)
# The program has the C library in it, so it runs on any Linux of its processor.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- --archive
host=$(rustc -vV | sed -n 's/^host: //p')
musl=${host%-gnu}-musl
if [ -z "${TARGET:-}" ]; then
	TARGET=$host
	if [ -d "$(rustc --print sysroot)/lib/rustlib/$musl" ] && command -v musl-gcc >/dev/null; then
		TARGET=$musl
	fi
fi
PROFILE=${PROFILE:-dist}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
packages=$PWD/target/packages
# The same input gives the same archive.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

# Flags apply to programs of TARGET alone, not to build scripts, because TARGET is named.
variable=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$TARGET")_RUSTFLAGS
export "$variable=${!variable:-} -Ctarget-feature=+crt-static -Cstrip=symbols"
cargo build --locked --profile "$PROFILE" --target "$TARGET" -p ichnos-cli --features table
program=${CARGO_TARGET_DIR:-target}/$TARGET/$PROFILE/ichnos

root=$packages/ichnos-$version-$TARGET
rm -rf "$root"
mkdir -p "$root/man" "$root/completions"
install -m 755 "$program" "$root/ichnos"
"$program" man --directory "$root/man"
"$program" completions bash >"$root/completions/ichnos.bash"
"$program" completions zsh >"$root/completions/_ichnos"
"$program" completions fish >"$root/completions/ichnos.fish"
cp ./*.md LICENSE-APACHE LICENSE-MIT "$root"
# The README shows pictures, links pages and prints examples.
mkdir "$root/docs" "$root/examples"
cp -R docs/*.md docs/from docs/guides docs/images "$root/docs"
cp -R examples/. "$root/examples"
rm -rf "$root"/examples/*/target
# Sources are in the repository.
repository=$(sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)
find "$root" -name '*.md' -exec \
	sed -E -i "s#\]\((\.\./)*((crates|fuzz|benches)/[^)]*|deny\.toml)\)#]($repository/blob/main/\2)#g" {} +

archive() {
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
		-C "$packages" -c "${root##*/}" | gzip -9n >"$root.tar.gz"
	(cd "$packages" && sha256sum "${root##*/}.tar.gz" >"${root##*/}.tar.gz.sha256")
	echo "$root.tar.gz"
}

deb() {
	# cargo-deb takes files by paths that do not depend on the version.
	ln -sfn "$root" "$packages/files"
	# Quiet: it would warn that it does not build the files.
	cargo deb --quiet --no-build --no-strip -p ichnos-cli --target "$TARGET" --profile "$PROFILE" --output "$packages"
}

container() {
	local tool
	for tool in podman docker; do
		if command -v $tool >/dev/null; then
			$tool build -f packaging/Containerfile -t "ichnos:$version" "$root"
			return
		fi
	done
	echo "packaging/build.sh: neither podman nor docker is installed" >&2
	return 1
}

duckdb() {
	# It has no program of TARGET in it: DuckDB loads it into its own process.
	env -u "$variable" PROFILE=release crates/duckdb/build.sh "$packages"
}

python() {
	# Python loads it into its own process, as well.
	env -u "$variable" PROFILE=release crates/python/build.sh "$packages"
}

for what in "$@"; do
	case $what in
	--archive) archive ;;
	--deb) deb ;;
	--container) container ;;
	--duckdb) duckdb ;;
	--python) python ;;
	*)
		echo "packaging/build.sh: unknown argument: $what" >&2
		exit 2
		;;
	esac
done
