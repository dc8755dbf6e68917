#!/bin/sh
# Runs once, when the database is made: lets the standby copy from the primary, with the password of the database, and
# makes commits wait for it. The last is written for the next start: the server that runs now has no standby to wait for.
set -eu
echo 'host replication cortex all scram-sha-256' >>"$PGDATA/pg_hba.conf"
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d "$POSTGRES_DB" -c "ALTER SYSTEM SET synchronous_standby_names = '*'"
