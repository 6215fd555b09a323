#!/usr/bin/env bash
# Records Hello.cs with EventPipe. Usage: record.sh DOTNET OUT.nettrace
# DOTNET is the directory of a .NET Core SDK 3.1; the same variables with DOTNET_ in place of COMPlus_ do for later ones.
set -euo pipefail
dotnet=$(cd "$1" && pwd)
out=$(realpath -m "$2")
here=$(cd "$(dirname "$0")" && pwd)
work=/tmp/hello
mkdir "$work"
trap 'rm -rf "$work"' EXIT
export DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 DOTNET_NOLOGO=1
references=()
for file in "$dotnet"/packs/Microsoft.NETCore.App.Ref/*/ref/*/*.dll; do references+=("-r:$file"); done
"$dotnet/dotnet" "$(ls -d "$dotnet"/sdk/*/)Roslyn/bincore/csc.dll" -nologo -o+ -langversion:8 -nostdlib \
    "${references[@]}" -out:"$work/hello.dll" "$here/Hello.cs"
echo '{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"3.1.0"}}}' \
    > "$work/hello.runtimeconfig.json"
cd "$work"
# GC, exceptions, threads, contention; all methods that the JIT compiles; samples of the stacks; activity ids.
COMPlus_EnableEventPipe=1 \
COMPlus_EventPipeConfig='Hello-World:FFFFFFFFFFFFFFFF:5,Microsoft-Windows-DotNETRuntime:4c019:4,Microsoft-DotNETCore-SampleProfiler:0:5,System.Threading.Tasks.TplEventSource:80:4' \
    "$dotnet/dotnet" hello.dll
mv hello.*.nettrace "$out"
