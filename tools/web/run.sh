#!/bin/sh
# Tests of the page: types, pure logic, and every page in a real browser. Usage: run.sh CORTEX_PROGRAM
# `run.sh --picture CORTEX_PROGRAM FILE` only takes the picture that README shows.
# Needs Node 20, npm, a network for four packages, and a Chromium of the distribution (or CHROMIUM=PATH); root on a
# Debian gets one by itself.
# WEB_DIR=FOLDER keeps the packages; WEB_FAILURES=FOLDER gets pictures of pages where a test failed.
set -eu
picture=
if [ "$1" = --picture ]; then
  picture=$(realpath -m "$3")
  shift
fi
program=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
packages=${WEB_DIR:-"$here/node_modules"}
case ${packages} in */node_modules) ;; *) packages="$packages/node_modules" ;; esac

has_browser() {
  [ -x "${CHROMIUM:-/nowhere}" ] || command -v chromium || command -v chromium-browser || command -v google-chrome
}
if ! has_browser >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get install -qq -y chromium >/dev/null
fi
if ! has_browser >/dev/null; then
  echo 'No Chromium was found. Install it (apt-get install chromium), or set CHROMIUM to its path.' >&2
  exit 1
fi
cd "$here"
if [ ! -d "$packages/playwright-core" ]; then
  mkdir -p "$(dirname "$packages")"
  [ "$packages" = "$here/node_modules" ] || cp package.json "$(dirname "$packages")/"
  (cd "$(dirname "$packages")" && npm install --no-package-lock --no-audit --no-fund --silent)
fi
[ "$packages" = "$here/node_modules" ] || ln -sfn "$packages" "$here/node_modules"

if [ -n "$picture" ]; then
  # The page takes the fonts of the system; a machine without a screen has none that people would choose.
  if ! fc-list 2>/dev/null | grep -q Inter && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -qq -y fonts-inter >/dev/null || echo 'The picture is taken with the fonts that are here.' >&2
  fi
  CORTEX_BIN="$program" exec node pictures.mjs "$picture"
fi
node_modules/.bin/tsc -p tsconfig.json
node --test unit/
CORTEX_BIN="$program" node --test --test-concurrency=1 browser/
