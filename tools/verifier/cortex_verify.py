#!/usr/bin/env python3
"""An independent verifier of what Cortex proves, written from docs/format.md alone. Standard library only.

  cortex_verify.py proof FILE [--root HEX]        a file of `cortex prove`
  cortex_verify.py journal FILE [--root HEX]      the lines of `cortex journal --raw`; --root is the journal's root
  cortex_verify.py checkpoint FILE --key VKEY     a note of `cortex checkpoint`

Exit code 0 if all holds, 1 if it does not, 2 for wrong usage.
"""

import argparse
import base64
import binascii
import json
import re
import sys

import ed25519
from cbor import NotCanonical, decode, encode
from trees import (
    Refused,
    check_consistency,
    check_inclusion,
    check_multi_proof,
    check_slice_proof,
    check_tree_proof,
    edge_key,
    head_key,
    journal_root,
    leaf,
    sha,
)

SCHEMA = 1
KINDS = 22
WRITE, UPDATE, SNAPSHOT = 1, 2, 17
TYPES = range(1, 10)
ACTOR = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")
# Fields by key, with the keys that may be absent.
HEAD = (set(range(21)), {5, 10, 13, 14, 15})
VERSION = (set(range(11)), {7, 8, 9})
EDGE = (set(range(7)), set())
ENTRY = (set(range(8)), {6, 7})
MANIFEST = (set(range(13)), {8})
SEALED = ({0, 1}, set())


def need(holds, why):
    if not holds:
        raise Refused(why)


def unbase64(text):
    """Base64 in its one spelling."""
    data = base64.b64decode(text, validate=True)
    need(base64.b64encode(data).decode() == text, "base64 has another spelling")
    return data


def record(value, fields, what):
    """A record has its fields and no others."""
    known, optional = fields
    need(isinstance(value, dict), f"{what} is no record")
    need(known - optional <= set(value) <= known, f"{what} has other fields")
    return value


def overall_root(actor, roots):
    name = actor.encode("utf-8")
    return sha(
        b"cortex/root/1",
        SCHEMA.to_bytes(4, "big"),
        b"\x01",
        bytes([len(name)]),
        name,
        roots[0].to_bytes(8, "big"),
        roots[1],
        roots[2],
        roots[3],
    )


def check_entry(data, seq=None):
    entry = record(decode(data), ENTRY, "an entry")
    need(entry[0] == SCHEMA and 1 <= entry[2] <= KINDS, "an entry of another schema or kind")
    need(seq is None or entry[1] == seq, f"entry {entry[1]} stands in the place of {seq}")
    return entry


def check_text(head, version, sealed):
    """Head, version and text belong together."""
    record(head, HEAD, "a head")
    record(version, VERSION, "a version")
    need(version[0] == head[0] and version[1] == head[3], "the version is another one's")
    need(sha(b"cortex/version/1", encode(version)) == head[4], "the version was altered")
    if sealed is not None:
        record(sealed, SEALED, "a sealed body")
        need(sha(b"cortex/body/1", sealed[0], sealed[1]) == version[2], "the text was altered")
        body = decode(sealed[1])
        need(isinstance(body, dict) and {0, 1, 2} == set(body), "the text is no body")
        return body
    return None


def memory_claim(claim, roots):
    head, version = claim[0], claim[1]
    body = check_text(head, version, claim.get(2))
    key = head_key(head[1], head[0])
    check_tree_proof(claim[3], key, sha(b"cortex/head/1", encode(head)), roots[2])
    entry = check_entry(claim[4], version[10])
    check_inclusion(leaf(claim[4]), version[10] - 1, roots[0], claim[5][0], roots[1])
    payload = decode(entry[5])
    if entry[2] == WRITE:
        wrote = entry[1] == head[0] and version[1] == 1 and payload[2] == version[2]
    else:
        need(entry[2] == UPDATE, "the entry writes no version")
        wrote = (payload[0], payload[1], payload[2]) == (head[0], version[1], version[2])
    need(wrote, "the entry writes another version")
    return {"claim": "memory", "id": head[0], "version": version[1], "title": body and body[0]}


def slice_claim(claim, roots):
    listed, leaves = [], {}
    for type_code, proof in claim[0]:
        need(not listed or type_code > listed[-1], "the types are not in order")
        prefix = bytes([type_code]) + bytes(31)
        leaves.update(check_slice_proof(proof, prefix, 8, roots[2]))
        listed.append(type_code)
    others, last, shown = {}, 0, 0
    for one in claim[1]:
        head = one[0]
        check_text(head, one[1], one.get(2))
        need(head[0] > last, "the records are not in order")
        last = head[0]
        key, value = head_key(head[1], head[0]), sha(b"cortex/head/1", encode(head))
        if head[1] in listed:
            need(leaves.get(key) == value, "a record is not in the slice")
        else:
            others[key] = value
        shown += 1
    if others:
        need(2 in claim, "nothing proves the other records")
        check_multi_proof(claim[2], others, roots[2])
    else:
        need(2 not in claim, "a proof of nothing")
    return {"claim": "slice", "types": listed, "shown": shown, "of": len(leaves) + len(others)}


def check_proof(data, trusted=None):
    """What a proof file proves. Any doubt is an exception."""
    file = decode(data)
    record(file, ({0, 1, 2, 3}, set()), "a proof file")
    need(file[0] == SCHEMA, "another schema")
    actor, roots = file[1], file[2]
    need(ACTOR.match(actor) and ".." not in actor, "bad actor name")
    record(roots, ({0, 1, 2, 3}, set()), "the roots")
    code, fields = file[3]
    if code == 1:
        said = memory_claim(fields[0], roots)
    elif code == 2:
        claims = {head_key(type_code, fields[0]): None for type_code in TYPES}
        check_multi_proof(fields[1], claims, roots[2])
        said = {"claim": "no_memory", "id": fields[0]}
    elif code == 3:
        edge = record(fields[0], EDGE, "an edge")
        key = edge_key(edge[0], edge[1], edge[2])
        check_tree_proof(fields[1], key, sha(b"cortex/edge/1", encode(edge)), roots[3])
        said = {"claim": "edge", "src": edge[0], "relation": edge[1], "dst": edge[2]}
    elif code == 4:
        src, relation, dst, proof = fields
        check_tree_proof(proof, edge_key(src, relation, dst), None, roots[3])
        said = {"claim": "no_edge", "src": src, "relation": relation, "dst": dst}
    elif code == 5:
        claim = fields[0]
        entry = check_entry(claim[0])
        need(entry[2] == SNAPSHOT, "the entry is no snapshot")
        manifest = record(decode(entry[5]), MANIFEST, "a manifest")
        need(entry[1] == manifest[3] + 1 and manifest[1] == actor, "another journal's snapshot")
        own = {0: manifest[3], 1: manifest[4], 2: manifest[5], 3: manifest[6]}
        need(overall_root(actor, own) == manifest[7], "the snapshot's root is another")
        check_inclusion(leaf(claim[0]), manifest[3], roots[0], claim[1][0], roots[1])
        check_consistency(manifest[3], manifest[4], roots[0], roots[1], claim[2][0])
        said = {"claim": "append_only", "since": manifest[3]}
    elif code == 6:
        said = slice_claim(fields[0], roots)
    else:
        raise Refused("an unknown claim")
    root = overall_root(actor, roots)
    need(trusted is None or root == trusted, f"the root is {root.hex()}, not the one you trust")
    return {"actor": actor, "root": root.hex(), "size": roots[0], **said}


def check_journal(lines, trusted=None):
    """Recomputes the journal's root from its entries: a line each, `seq base64`."""
    leaves, last = [], None
    for line in lines:
        if not line.strip():
            continue
        number, text = line.split(" ")
        data = unbase64(text)
        entry = check_entry(data, len(leaves) + 1)
        need(int(number) == entry[1], f"line {number} holds entry {entry[1]}")
        need(last is None or entry[3] >= last, f"entry {entry[1]} is before the one before it")
        last = entry[3]
        leaves.append(leaf(data))
    root = journal_root(leaves)
    need(trusted is None or root == trusted, f"the journal's root is {root.hex()}, not that one")
    return {"entries": len(leaves), "journal_root": root.hex()}


def check_checkpoint(text, vkey):
    """A signed note: text, an empty line, a line per signature."""
    name, key_hash, encoded = vkey.split("+", 2)
    key = unbase64(encoded)
    need(key[:1] == b"\x01" and len(key) == 33, "the key is not of Ed25519")
    expected = sha(name.encode(), b"\n", key)[:4]
    need(expected.hex() == key_hash, "the key's hash is another")
    body, separator, signatures = text.partition("\n\n")
    need(separator, "the note has no signatures")
    body += "\n"
    for line in signatures.split("\n")[:-1]:
        dash, signer, blob = line.split(" ", 2)
        data = unbase64(blob)
        if dash == "\u2014" and signer == name and data[:4] == expected:
            need(ed25519.verify(key[1:], body.encode(), data[4:]), "the signature is forged")
            origin, size, root, *more = body.split("\n")[:-1]
            extra = dict(line.split(" ", 1) for line in more)
            journal = unbase64(root).hex()
            return {"origin": origin, "size": int(size), "journal_root": journal, **extra}
    raise Refused("nobody with this key signed the note")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["proof", "journal", "checkpoint"])
    parser.add_argument("file", help="a file, or - for standard input")
    parser.add_argument("--root", type=bytes.fromhex, help="the root you trust")
    parser.add_argument("--key", help="the verifier key, as `cortex checkpoint --key` prints it")
    asked = parser.parse_args()
    if asked.what == "checkpoint" and not asked.key:
        parser.error("a checkpoint is checked with --key")
    if asked.file == "-":
        data = sys.stdin.buffer.read()
    else:
        with open(asked.file, "rb") as file:
            data = file.read()
    try:
        if asked.what == "proof":
            said = check_proof(data, asked.root)
        elif asked.what == "journal":
            said = check_journal(data.decode().split("\n"), asked.root)
        else:
            said = check_checkpoint(data.decode(), asked.key)
    except (Refused, NotCanonical, binascii.Error, UnicodeDecodeError) as why:
        print(f"refused: {why}", file=sys.stderr)
        return 1
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as why:
        print(f"refused: it is malformed ({why!r})", file=sys.stderr)
        return 1
    print(json.dumps({"valid": True, **said}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
