#!/bin/sh
# Installs pinned clients and tries the program with each of them, in temporary homes: a full disk, HTTP with schemathesis and
# the Python clients of MCP, the inspector and the conformance suite of MCP, and `cortex setup` with real agents.
#
#   tools/clients/run.sh PATH_OF_CORTEX [disk|http|inspector|conformance|claude|codex|gemini|opencode|plugin|recorded|confined ...]
#
# About 1.5 GB and some minutes the first time. CLIENTS_DIR keeps them for the next time.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cortex=$1
shift
if [ ! -x "$cortex" ]; then
  echo "there is no program at $cortex" >&2
  exit 2
fi
cortex=$(cd "$(dirname "$cortex")" && pwd)/$(basename "$cortex")

if [ -n "${CLIENTS_DIR:-}" ]; then
  mkdir -p "$CLIENTS_DIR"
else
  CLIENTS_DIR=$(mktemp -d)
  trap 'rm -rf "$CLIENTS_DIR"' EXIT
fi

# Is one of these to be tried? Without names all are.
wanted() {
  [ -z "$names" ] && return 0
  for one in "$@"; do
    case " $names " in *" $one "*) return 0 ;; esac
  done
  return 1
}
names=$*
for name in "$@"; do
  case $name in
    disk | http | inspector | conformance | claude | codex | gemini | opencode | plugin | recorded | confined) ;;
    *) echo "nothing here is called $name" >&2; exit 2 ;;
  esac
done

if wanted disk; then python3 "$here/full_disk.py" "$cortex"; fi
if wanted http; then CLIENTS_DIR=$CLIENTS_DIR "$here/http.sh" "$cortex"; fi
wanted inspector conformance claude codex gemini opencode plugin recorded confined || exit 0

if ! cmp -s "$here/versions" "$CLIENTS_DIR/versions"; then
  node=$(sed -n 's/^\(node@.*\)/\1/p' "$here/versions")
  others=$(grep -v '^#' "$here/versions" | grep -v '^node@')
  # Node first: the others refuse an old one, or are quietly replaced by an older version of themselves.
  npm install --no-save --no-audit --no-fund --prefix "$CLIENTS_DIR" "$node"
  # shellcheck disable=SC2086 # one word per package
  PATH="$CLIENTS_DIR/node_modules/node/bin:$PATH" \
    npm install --no-save --no-audit --no-fund --prefix "$CLIENTS_DIR" "$node" $others
  cp "$here/versions" "$CLIENTS_DIR/versions"
fi

PATH="$CLIENTS_DIR/node_modules/node/bin:$CLIENTS_DIR/node_modules/.bin:$PATH"
export PATH CLIENTS_DIR
if wanted inspector; then node "$here/protocol.mjs" "$cortex" inspector; fi
if wanted conformance; then node "$here/protocol.mjs" "$cortex" conformance; fi
if wanted claude codex gemini opencode plugin; then node "$here/check.mjs" "$cortex" "$@"; fi
# What a model reads, with a model that writes it down. RECORDED_DIR keeps every request.
if wanted recorded; then node "$here/recorded.mjs" "$cortex" claude codex gemini opencode; fi
# What a run reaches through a real agent whose model wants everything.
if wanted confined; then node "$here/confined.mjs" "$cortex"; fi
