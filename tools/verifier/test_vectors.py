#!/usr/bin/env python3
"""Checks every vector, and that no vector passes when a byte of it is changed."""

import json
import pathlib
import sys

import cortex_verify

VECTORS = pathlib.Path(__file__).resolve().parent / "vectors"
# Every how many bytes one is changed.
STEP = 41


def check(kind, data, expected):
    if kind == "proof":
        return cortex_verify.check_proof(data, bytes.fromhex(expected["root"]))
    if kind == "journal":
        root = bytes.fromhex(expected["journal_root"])
        return cortex_verify.check_journal(data.decode().split("\n"), root)
    return cortex_verify.check_checkpoint(data.decode(), expected["key"])


def main():
    vectors = json.loads((VECTORS / "vectors.json").read_text())
    wrong = 0
    for vector in vectors["files"]:
        data = (VECTORS / vector["file"]).read_bytes()
        said = check(vector["kind"], data, vectors)
        for name, value in vector["says"].items():
            if said[name] != value:
                print(f"{vector['file']}: {name} is {said[name]!r}, not {value!r}")
                wrong += 1
        for place in range(0, len(data), STEP):
            altered = bytearray(data)
            altered[place] ^= 1 << place % 8
            try:
                check(vector["kind"], bytes(altered), vectors)
            except Exception:  # whatever is wrong with it, it is refused
                continue
            print(f"{vector['file']}: passes with byte {place} changed")
            wrong += 1
    print(f"{len(vectors['files'])} vectors, {wrong} problems")
    return 1 if wrong or not vectors["files"] else 0


if __name__ == "__main__":
    sys.exit(main())
