#!/bin/sh
# Lets the standby copy from the primary, with the password of the database.
set -eu
echo 'host replication cortex all scram-sha-256' >>"$PGDATA/pg_hba.conf"
