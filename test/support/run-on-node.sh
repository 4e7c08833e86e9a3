#!/bin/sh
# Runs the short part of the suite on another Node, which npm fetches: npm run test:node -- 24
# If that Node is too old, checks that every entry point refuses it with a clear message.
set -eu

version=${1:?Name a version of Node, as: npm run test:node -- 24}
case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# npm's package "node" is only an install script that fetches this package.
npm install --silent --no-audit --no-fund --prefix "$folder" "node-linux-$arch@$version"
PATH="$folder/node_modules/node-linux-$arch/bin:$PATH"
export PATH
echo "Node $(node -p process.versions.node)"

if node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)'; then
  node node_modules/jest/bin/jest.js test/contract/contract.test.ts test/operator/cli.test.ts test/concurrency/slots.test.ts
  exit
fi

for entry in main demo cli 'cli init' 'cli doctor'; do
  set -- $entry
  name=$1
  shift
  if said=$(node "dist/src/$name.js" "$@" 2>&1); then
    echo "$entry: started on a Node that is too old" >&2
    exit 1
  fi
  case $said in
    'licensing-gateway needs Node '*) echo "$entry: refused in words" ;;
    *) printf '%s: %s\n' "$entry" "$said" >&2 && exit 1 ;;
  esac
done
