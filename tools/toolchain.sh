#!/bin/sh
# Makes sure there is a C compiler (SQLite's sources need one) and the Rust toolchain that rust-toolchain.toml names.
# What is missing comes from the system's package manager; without one, or without leave to use it, it says what to do.
set -eu

have() { command -v "$1" >/dev/null 2>&1; }

# install NAME-FOR-APT NAME-FOR-DNF NAME-FOR-PACMAN NAME-FOR-BREW; `-` where a manager has no such package
install() {
  as=
  if [ "$(id -u)" != 0 ]; then
    as=sudo
    have sudo || as=absent
  fi
  if have brew; then
    [ "$4" = - ] && return 1
    echo "Installing $4 with brew ..." && brew install "$4"
  elif [ "$as" = absent ]; then
    return 1
  elif have apt-get; then
    echo "Installing $1 with apt-get ..." && $as apt-get update -q && $as apt-get install -qy "$1"
  elif have dnf; then
    echo "Installing $2 with dnf ..." && $as dnf install -qy "$2"
  elif have pacman; then
    echo "Installing $3 with pacman ..." && $as pacman -S --noconfirm "$3"
  else
    return 1
  fi
}

have cc || install gcc gcc gcc - || {
  echo 'There is no C compiler. Install gcc or clang (on macOS: xcode-select --install) and run make again.' >&2
  exit 1
}
if ! cargo --version >/dev/null 2>&1; then
  have rustup || install rustup rustup rustup rustup || {
    echo 'Rust is not installed. Install rustup, open a new shell, and run make again.' >&2
    exit 1
  }
  echo 'Installing the Rust toolchain that rust-toolchain.toml names ...'
  rustup toolchain install
  cargo --version >/dev/null 2>&1 || {
    echo "rustup is there, but cargo is not in the PATH. Add ${CARGO_HOME:-$HOME/.cargo}/bin to it and run make again." >&2
    exit 1
  }
fi
