#!/usr/bin/env bash
# Builds the book into target/book: docs/build.sh
#
# The source is docs, and the pages beside it that docs/SUMMARY.md names. Links to other files of the
# repository lead there. mdBook is installed into target/tools unless this version is there already.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.5.4
mdbook=target/tools/bin/mdbook
if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
	if ! cargo info --quiet "mdbook@$version" >/dev/null 2>&1; then
		echo "skipped: the book: mdBook cannot be downloaded"
		exit
	fi
	# Without optimization, it compiles in half of the time, and the book takes a second more.
	cargo install mdbook --version "$version" --locked --no-default-features --features search --debug \
		--root target/tools --target-dir target/tools/build --quiet
	rm -rf target/tools/build
fi

repository=$(sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)
source=target/book-source
rm -rf "$source" target/book
mkdir -p "$source"
cp -R docs "$source/src"
beside=$(sed -n 's/.*](\.\.\/\([A-Z]*\)\.md).*/\1/p' docs/SUMMARY.md)
for name in $beside; do
	cp "$name.md" "$source/src/"
done
names=$(tr '\n' '|' <<<"$beside" | sed 's/|$//')
find "$source/src" -name '*.md' | while read -r page; do
	inner=${page#"$source/src/"}
	# Where the repository is, seen from the page: docs is one step below it.
	up=$(dirname "$inner" | sed -E 's#[^/.]+#..#g; s#^\.$##; s#$#/#; s#^/$##')
	case $inner in
	ARCHITECTURE.md | CHANGELOG.md | CONTRIBUTING.md | SECURITY.md)
		sed -E -i.bak "s#\]\(docs/#](#g; s#\]\(((crates|examples|fuzz|benches|deny\.toml|README)[^)]*)\)#]($repository/blob/main/\1)#g" "$page"
		;;
	*)
		sed -E -i.bak "s#\]\(${up}\.\./($names)\.md#](${up}\1.md#g; s#\]\(${up}\.\./([^.)][^)]*)\)#]($repository/blob/main/\1)#g" "$page"
		;;
	esac
done
# The summary is no page of the book: its contents are beside every page.
find "$source/src" -name '*.md' ! -name SUMMARY.md -exec \
	sed -E -i.bak 's#\]\(([./]*)SUMMARY\.md\)#](\1introduction.md)#g' {} +
find "$source/src" -name '*.bak' -delete
cat >"$source/book.toml" <<EOF
[book]
title = "ichnos"
language = "en"

[output.html]
git-repository-url = "$repository"
EOF
"$mdbook" build "$source" --dest-dir "$PWD/target/book" 2>&1 | tee "$source/log"
if grep -E "WARN|ERROR" "$source/log"; then
	exit 1
fi
# Links between pages of the book lead somewhere.
missing=0
while IFS=: read -r page link; do
	target=${link%%#*}
	if [ -n "$target" ] && [ ! -e "$(dirname "$page")/$target" ]; then
		echo "$page: missing: $link"
		missing=1
	fi
done < <(grep -RoE --include='*.html' '(href|src)="[^":]*"' target/book | sed -E 's/^([^:]*):(href|src)="(.*)"$/\1:\3/')
exit $missing
