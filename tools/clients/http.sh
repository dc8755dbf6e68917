#!/bin/sh
# Tries HTTP and the tools with clients in Python that others wrote: schemathesis against /openapi.json, the SDK of MCP and
# fastmcp against /mcp and `cortex mcp`.
#
#   tools/clients/http.sh PATH_OF_CORTEX
#
# CLIENTS_DIR keeps the Python packages for the next time. EXAMPLES is the number of requests per operation and phase.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cortex=$1
folder=$(mktemp -d)
: "${CLIENTS_DIR:=$folder/clients}"
python=$CLIENTS_DIR/python

if ! cmp -s "$here/requirements.txt" "$python/requirements.txt"; then
  python3 -m venv "$python"
  "$python/bin/pip" install --quiet -r "$here/requirements.txt"
  cp "$here/requirements.txt" "$python/requirements.txt"
fi

mkdir "$folder/home"
export HOME="$folder/home" CORTEX_HOME="$folder/home/.cortex"
CORTEX_PORT=0 "$cortex" serve --json > "$folder/said" 2> "$folder/log" &
daemon=$!
trap 'kill "$daemon" 2>/dev/null; wait "$daemon" || true; rm -rf "$folder"' EXIT
until [ -s "$folder/said" ]; do
  kill -0 "$daemon" || { cat "$folder/log"; exit 1; }
  sleep 0.1
done
# The token of the home; programs of its owner read it from there.
CORTEX_TOKEN=$(cat "$CORTEX_HOME/token")
export CORTEX_TOKEN
url=$(sed -n 's/.*"http":"\([^"]*\)".*/\1/p' "$folder/said")

# Something to find, so that not every id is unknown.
for n in 1 2 3; do
  "$cortex" save --json "note $n" "about caches, number $n" > /dev/null
done

"$python/bin/python" "$here/python_clients.py" "$url/mcp" "$cortex"

# What answers look like, and that none is a failure of the server. Which requests are refused is tested in Rust.
cd "$folder"
"$python/bin/schemathesis" run "$url/openapi.json" -H "X-Cortex-Actor: default" -H "Authorization: Bearer $CORTEX_TOKEN" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method,allow_header_conformance \
  --phases examples,coverage,fuzzing,stateful --max-examples "${EXAMPLES:-50}" --seed 7 --continue-on-failure

kill -0 "$daemon" || { echo "the daemon is gone"; cat "$folder/log"; exit 1; }
"$cortex" verify
echo "HTTP is fine"
