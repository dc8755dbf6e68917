#!/bin/sh
# Nodes on one ledger, mistreated: installs PostgreSQL from the system's packages if it is not there, then runs the
# tests of crates/cli/tests/cluster with a synchronous standby, three nodes and random faults. The table it prints
# stands in docs/reliability.md.
#
#   tools/cluster/run.sh [MINUTES] [SEED]
set -eu

minutes=${1:-10}
seed=${2:-20261118}

if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && ! command -v initdb >/dev/null 2>&1; then
  echo 'PostgreSQL is not installed; installing it from the packages of the system.'
  if command -v apt-get >/dev/null 2>&1; then
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q postgresql
  elif command -v dnf >/dev/null 2>&1; then
    dnf install -y -q postgresql-server
  else
    echo 'no package manager that this script knows (apt-get, dnf); install PostgreSQL and run it again' >&2
    exit 1
  fi
fi

# One test at a time: each has servers and nodes of its own.
CORTEX_CLUSTER_MINUTES=$minutes CORTEX_CLUSTER_SEED=$seed \
  "${CARGO:-cargo}" test --locked -p cortex --test cluster -- --nocapture --test-threads 1
