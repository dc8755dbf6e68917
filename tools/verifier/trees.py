"""The trees of docs/format.md, sections 8 and 9: the journal tree of RFC 9162 and the sparse trees of the state."""

import hashlib

EMPTY = b"SPARSE_MERKLE_PLACEHOLDER_HASH__"
PATH_MAX = 65


class Refused(Exception):
    """The proof does not hold."""


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# ---- the journal tree ----


def leaf(entry):
    return sha(b"\x00", entry)


def inner(left, right):
    return sha(b"\x01", left, right)


def journal_root(leaves):
    """The root over leaf hashes."""
    if not leaves:
        return sha()
    level = list(leaves)
    # Pairing neighbours and carrying the odd one up splits at the largest power of two below the size.
    while len(level) > 1:
        pairs = [inner(level[n], level[n + 1]) for n in range(0, len(level) - 1, 2)]
        level = pairs + ([level[-1]] if len(level) % 2 else [])
    return level[0]


def check_inclusion(leaf_hash, index, size, path, root):
    """RFC 9162, 2.1.3.2."""
    if index >= size or len(path) > PATH_MAX:
        raise Refused("the entry is not in a journal of this size")
    number, last, found = index, size - 1, leaf_hash
    for sibling in path:
        if last == 0:
            raise Refused("the path is too long")
        if number % 2 or number == last:
            found = inner(sibling, found)
            while number % 2 == 0 and number != 0:
                number, last = number >> 1, last >> 1
        else:
            found = inner(found, sibling)
        number, last = number >> 1, last >> 1
    if last != 0 or found != root:
        raise Refused("the entry is not in the journal tree")


def check_consistency(old_size, old_root, new_size, new_root, path):
    """RFC 9162, 2.1.4.2."""
    if old_size > new_size or len(path) > PATH_MAX:
        raise Refused("the old journal is larger than the new one")
    if old_size == 0:
        if path or old_root != sha():
            raise Refused("an empty journal has one root and needs no path")
        return
    if old_size == new_size:
        if path or old_root != new_root:
            raise Refused("journals of one size have one root and need no path")
        return
    path = list(path)
    if old_size & (old_size - 1) == 0:
        path.insert(0, old_root)
    if not path:
        raise Refused("the path is too short")
    number, last = old_size - 1, new_size - 1
    while number % 2:
        number, last = number >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise Refused("the path is too long")
        if number % 2 or number == last:
            old, new = inner(sibling, old), inner(sibling, new)
            while number % 2 == 0 and number != 0:
                number, last = number >> 1, last >> 1
        else:
            new = inner(new, sibling)
        number, last = number >> 1, last >> 1
    if last != 0 or old != old_root or new != new_root:
        raise Refused("the journal was rewritten")


# ---- the state trees ----


def leaf_node(key, value_hash):
    return sha(b"JMT::LeafNode", key, value_hash)


def fork(left, right):
    return sha(b"JMT::IntrnalNode", left, right)


def bit(key, place):
    return key[place // 8] >> (7 - place % 8) & 1


def shares(key, other, bits):
    return all(bit(key, place) == bit(other, place) for place in range(bits))


def head_key(type_code, memory_id):
    length = memory_id.bit_length() - 1
    below = (memory_id - (1 << length)) << (64 - length)
    return bytes([type_code, length]) + below.to_bytes(8, "big") + bytes(22)


def edge_key(src, relation, dst):
    length = src.bit_length() - 1
    below = (src - (1 << length)) << (64 - length)
    start = bytes([length]) + below.to_bytes(8, "big") + bytes(23)
    rest = sha(b"cortex/edge-key/1", src.to_bytes(8, "big"), bytes([relation]), dst.to_bytes(8, "big"))
    taken = 8 + length
    high = int.from_bytes(start, "big") >> (256 - taken) << (256 - taken)
    low = int.from_bytes(rest, "big") >> taken
    return (high | low).to_bytes(32, "big")


def siblings_of(record):
    """The sibling of each level, from the root down."""
    depth, present, hashes = record[0], record[1], list(record[2])
    if set(record) != {0, 1, 2} or depth > 256 or len(present) != -(-depth // 8):
        raise Refused("siblings are malformed")
    if any(bit(present, place) for place in range(depth, 8 * len(present))):
        raise Refused("unused bits are set")
    found = []
    for place in range(depth):
        if bit(present, place):
            if not hashes or hashes[0] == EMPTY:
                raise Refused("a sibling is missing or empty")
            found.append(hashes.pop(0))
        else:
            found.append(EMPTY)
    if hashes:
        raise Refused("siblings are left over")
    return found


def climb(node, key, siblings):
    for place in range(len(siblings) - 1, -1, -1):
        node = fork(siblings[place], node) if bit(key, place) else fork(node, siblings[place])
    return node


def check_tree_proof(proof, key, value_hash, root):
    """`value_hash` of None claims that the key is absent."""
    siblings, other = siblings_of(proof[0]), proof.get(1)
    if value_hash is not None:
        if other is not None:
            raise Refused("a present key has no other leaf")
        node = leaf_node(key, value_hash)
    elif other is None:
        node = EMPTY
    else:
        if other[0] == key or not shares(other[0], key, len(siblings)):
            raise Refused("the other leaf does not lie in the way")
        node = leaf_node(other[0], other[1])
    if climb(node, key, siblings) != root:
        raise Refused("the path does not lead to the root")


def tree_of(leaves, depth):
    """The hash of the subtree of these (key, value hash) pairs from a depth on."""
    if not leaves:
        return EMPTY
    if len(leaves) == 1:
        return leaf_node(*leaves[0])
    left = [one for one in leaves if not bit(one[0], depth)]
    right = [one for one in leaves if bit(one[0], depth)]
    return fork(tree_of(left, depth + 1), tree_of(right, depth + 1))


def check_slice_proof(proof, prefix, bits, root):
    """All leaves under a prefix; returns them."""
    siblings, other = siblings_of(proof[0]), proof.get(2)
    leaves = [(one[0], one[1]) for one in proof[1]]
    depth = len(siblings)
    keys = [key for key, _ in leaves]
    if keys != sorted(set(keys)) or depth > bits or (len(leaves) > 1 and depth != bits):
        raise Refused("the slice is malformed")
    if not all(shares(key, prefix, bits) for key in keys):
        raise Refused("a leaf lies outside of the slice")
    if leaves:
        if other is not None:
            raise Refused("a slice with leaves has no other leaf")
        node = tree_of(leaves, depth)
    elif other is None:
        node = EMPTY
    else:
        if shares(other[0], prefix, bits) or not shares(other[0], prefix, depth):
            raise Refused("the other leaf does not lie in the way")
        node = leaf_node(other[0], other[1])
    if climb(node, prefix, siblings) != root:
        raise Refused("the slice does not lead to the root")
    return leaves


def check_multi_proof(proof, claims, root):
    """`claims` maps keys to value hashes, or to None where a key is claimed to be absent."""
    shape, hashes, others = proof[0], list(proof[1]), list(proof[2])
    place = 0

    def next_kind():
        nonlocal place
        if place + 2 > 8 * len(shape):
            raise Refused("the shape is too short")
        kind = bit(shape, place) << 1 | bit(shape, place + 1)
        place += 2
        return kind

    def node(path, depth, under):
        kind = next_kind()
        if kind == 0:
            if any(claims[key] is not None for key in under):
                raise Refused("a claimed leaf is missing")
            return EMPTY
        if kind == 1:
            if under or not hashes or hashes[0] == EMPTY:
                raise Refused("an opaque node hides a claim, or is missing")
            return hashes.pop(0)
        if not under:
            raise Refused("the shape opens what nobody claimed")
        if kind == 2:
            here = [key for key in under if claims[key] is not None]
            if len(here) == 1:
                return leaf_node(here[0], claims[here[0]])
            if here or not others:
                raise Refused("two claimed leaves in one place, or none to show")
            other = others.pop(0)
            if other[0] in claims or any(bit(other[0], n) != path[n] for n in range(depth)):
                raise Refused("the other leaf does not lie in the way")
            return leaf_node(other[0], other[1])
        if depth == 256:
            raise Refused("the shape is deeper than a key")
        left = [key for key in under if not bit(key, depth)]
        right = [key for key in under if bit(key, depth)]
        return fork(node(path + [0], depth + 1, left), node(path + [1], depth + 1, right))

    found = node([], 0, sorted(claims))
    rest = range(place, 8 * len(shape))
    if hashes or others or len(rest) >= 8 or any(bit(shape, n) for n in rest):
        raise Refused("something is left over")
    if found != root:
        raise Refused("the multi-proof does not lead to the root")
