"""Canonical CBOR as docs/format.md, section 1.1 defines it: one encoding per record, anything else is refused."""


class NotCanonical(Exception):
    """The bytes are not the one encoding of what they say."""


class Variant(tuple):
    """A variant with content: its code, then its fields."""


def encode(value):
    """The bytes of integers, texts, byte strings, booleans, lists and maps with unsigned keys."""
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        text = value.encode("utf-8")
        return _head(3, len(text)) + text
    if isinstance(value, (list, tuple)):
        return _head(4, len(value)) + b"".join(encode(item) for item in value)
    if isinstance(value, dict):
        items = sorted(value.items())
        return _head(5, len(items)) + b"".join(encode(key) + encode(item) for key, item in items)
    raise NotCanonical(f"{type(value).__name__} has no encoding")


def decode(data):
    """The value that the bytes encode; refuses bytes that are not its only encoding."""
    value, end = _item(data, 0, 0)
    if end != len(data):
        raise NotCanonical("bytes follow the record")
    if encode(value) != data:
        raise NotCanonical("the record has another encoding")
    return value


# Deeper than any record; a decoder that calls itself must not be driven further.
DEPTH_MAX = 32


def _head(major, number):
    if number < 24:
        return bytes([major << 5 | number])
    for bits, extra in ((8, 24), (16, 25), (32, 26), (64, 27)):
        if number < 1 << bits:
            return bytes([major << 5 | extra]) + number.to_bytes(bits // 8, "big")
    raise NotCanonical("a number has more than 64 bits")


def _item(data, at, depth):
    if depth > DEPTH_MAX:
        raise NotCanonical("nested too deeply")
    if at >= len(data):
        raise NotCanonical("the bytes end too early")
    major, extra = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        if extra in (20, 21):
            return extra == 21, at
        raise NotCanonical("neither true nor false")
    if extra < 24:
        number = extra
    elif extra <= 27:
        size = 1 << (extra - 24)
        if at + size > len(data):
            raise NotCanonical("the bytes end too early")
        number = int.from_bytes(data[at : at + size], "big")
        at += size
    else:
        raise NotCanonical("an indefinite length or a reserved form")
    if major == 0:
        return number, at
    if major == 1:
        return -1 - number, at
    if major in (2, 3):
        piece = data[at : at + number]
        if len(piece) != number:
            raise NotCanonical("the bytes end too early")
        if major == 2:
            return piece, at + number
        try:
            return piece.decode("utf-8"), at + number
        except UnicodeDecodeError as error:
            raise NotCanonical("a text is not UTF-8") from error
    if major == 4:
        items = []
        for _ in range(number):
            item, at = _item(data, at, depth + 1)
            items.append(item)
        return items, at
    if major == 5:
        found = {}
        for _ in range(number):
            key, at = _item(data, at, depth + 1)
            if not isinstance(key, int) or isinstance(key, bool) or key < 0 or key in found:
                raise NotCanonical("a key is no unsigned integer, or is there twice")
            found[key], at = _item(data, at, depth + 1)
        return found, at
    raise NotCanonical("tags do not occur")
