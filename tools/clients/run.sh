#!/bin/sh
# Installs pinned clients and tries the program with each of them, in temporary homes: HTTP with schemathesis and the Python
# SDK of MCP, and `cortex setup` with real agents.
#
#   tools/clients/run.sh PATH_OF_CORTEX [http|claude|codex|gemini|opencode|plugin ...]
#
# About 1.3 GB and a minute the first time. CLIENTS_DIR keeps them for the next time.
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

case " $* " in
  "  " | *" http "*)
    CLIENTS_DIR=$CLIENTS_DIR "$here/http.sh" "$cortex"
    if [ "$*" = http ]; then exit 0; fi
    ;;
esac

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
export PATH
node "$here/check.mjs" "$cortex" "$@"
