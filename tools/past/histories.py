#!/usr/bin/env python3
"""Writes made-up histories of coding agents, to measure with: `histories.py FOLDER MEGABYTES [--texts DIR] [--lean]`.

FOLDER becomes a home: `.claude/projects` (three quarters of the bytes) and `.codex/sessions`. The text is cut out of the
files below `--texts` (this repository unless told), with made-up names and numbers between, so nobody's session is in it. The
shares of a record's parts are those measured in real stores: of 42 KB a turn two thirds are outputs, which Claude Code
writes twice. `--lean` leaves the outputs small: 3 KB a turn, for many turns on little disk. Sessions spread over a year, and
so do the times of the files. The same arguments give the same bytes.
"""
import argparse
import json
import os
import random
import time
from pathlib import Path

ENDINGS = {".rs", ".md", ".py", ".toml", ".js", ".mjs", ".c", ".h", ".txt", ".ts", ".go", ".json"}
TEXT_BYTES_MAX = 64 << 20
YEAR = 365 * 86_400
TURNS = 14
CALLS = 7
SYLLABLES = "ka lo mi ten ra su vel or pi dan que ro sta ne bu fi".split()


class Texts:
    """Windows into real text, with names in between that stand nowhere else."""

    def __init__(self, folder, chance):
        self.chance = chance
        parts, size = [], 0
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in ENDINGS and "target" not in path.parts and path.is_file() and size < TEXT_BYTES_MAX:
                text = path.read_text(encoding="utf-8", errors="replace")
                parts.append(text)
                size += len(text)
        self.text = "\n".join(parts)
        if len(self.text) < 1 << 16:
            raise SystemExit(f"{folder} holds too little text")

    def name(self):
        number, name = self.chance.randrange(1 << 18), ""
        while number:
            number, part = divmod(number, 16)
            name += SYLLABLES[part]
        return name or "ka"

    def window(self, size):
        at = self.chance.randrange(len(self.text) - size)
        text = self.text[at : at + size]
        middle = size // 2
        return f"{text[:middle]} {self.name()} {self.chance.getrandbits(40):x}{text[middle:]}"

    def size(self, mean):
        return max(40, int(self.chance.expovariate(1 / mean)))


class Stamp:
    def __init__(self, start):
        self.at = start

    def next(self, chance):
        self.at += chance.randrange(2, 40)
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.at))


def claude(texts, number, start, lean):
    chance, stamp, lines = texts.chance, Stamp(start), []
    session = f"{number:08x}-0000-4000-8000-{chance.getrandbits(48):012x}"
    folder = f"/src/project-{number % 17}"

    def put(kind, uuid, message, **more):
        lines.append(json.dumps({"parentUuid": None, "isSidechain": False, "userType": "external", "cwd": folder,
            "sessionId": session, "version": "2.1.9", "gitBranch": "main", "type": kind, "message": message,
            "uuid": f"{session}-{uuid}", "timestamp": stamp.next(chance), **more}))

    for turn in range(TURNS):
        put("user", f"u{turn}", {"role": "user", "content": texts.window(texts.size(250 if lean else 700))})
        for call in range(1 if lean else CALLS):
            message, tool = f"msg_{turn}_{call}", f"toolu_{number}_{turn}_{call}"
            if not lean:
                block = {"type": "thinking", "thinking": "", "signature": f"{chance.getrandbits(2700):x}"}
                put("assistant", f"h{turn}.{call}", {"id": message, "role": "assistant", "content": [block]})
            kind = chance.randrange(10)
            path = f"{folder}/src/{texts.name()}.rs"
            if kind < 5:
                name, call_input = "Bash", {"command": f"cargo test -p {texts.name()} --test {texts.name()}"}
            elif kind < 8:
                name, call_input = "Read", {"file_path": path}
            else:
                old, new = (texts.window(texts.size(120 if lean else 1_200)) for _ in range(2))
                name, call_input = "Edit", {"file_path": path, "old_string": old, "new_string": new}
            use = {"type": "tool_use", "id": tool, "name": name, "input": call_input}
            put("assistant", f"a{turn}.{call}", {"id": message, "role": "assistant", "content": [use]})
            failed = kind == 0
            output = texts.window(texts.size(100 if lean else 1_700))
            output = f"error[E{chance.randrange(600)}]: {output}" if failed else output
            result = {"type": "tool_result", "tool_use_id": tool, "content": output, "is_error": failed}
            put("user", f"r{turn}.{call}", {"role": "user", "content": [result]},
                toolUseResult={"stdout": output, "stderr": "", "interrupted": False, "isImage": False})
        put("assistant", f"e{turn}", {"id": f"end_{turn}", "role": "assistant",
            "content": [{"type": "text", "text": texts.window(texts.size(700 if lean else 3_000))}]})
        if not lean:
            lines.append(json.dumps({"type": "attachment", "uuid": f"{session}-t{turn}", "data": texts.window(900)}))
    return f".claude/projects/-src-project-{number % 17}/{session}.jsonl", lines, stamp.at


def codex(texts, number, start, lean):
    chance, stamp, lines = texts.chance, Stamp(start), []
    thread = f"{number:08x}-0000-7000-8000-{chance.getrandbits(48):012x}"
    folder = f"/src/project-{number % 17}"

    def put(kind, payload):
        lines.append(json.dumps({"timestamp": stamp.next(chance), "type": kind, "payload": payload}))

    put("session_meta", {"id": thread, "session_id": thread, "cwd": folder, "cli_version": "0.150.0", "source": "cli",
        "history_mode": "legacy"})
    for turn in range(TURNS):
        prompt = texts.window(texts.size(250 if lean else 700))
        put("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]})
        put("event_msg", {"type": "user_message", "message": prompt})
        for call in range(1 if lean else 2 * CALLS):
            tool = f"call_{turn}_{call}"
            if not lean:
                put("response_item", {"type": "reasoning", "summary": [], "encrypted_content": f"{chance.getrandbits(2700):x}"})
            line = json.dumps({"command": ["bash", "-lc", f"make {texts.name()} {texts.name()}"], "workdir": folder})
            put("response_item", {"type": "function_call", "name": "shell", "arguments": line, "call_id": tool})
            output = texts.window(texts.size(100 if lean else 1_700))
            put("response_item", {"type": "function_call_output", "call_id": tool,
                "output": json.dumps({"output": output, "metadata": {"exit_code": int(chance.randrange(8) == 0)}})})
        answer = texts.window(texts.size(700 if lean else 3_000))
        put("response_item", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": answer}]})
        put("event_msg", {"type": "agent_message", "message": answer})
    day = time.strftime("%Y/%m/%d", time.gmtime(start))
    name = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(start))
    return f".codex/sessions/{day}/rollout-{name}-{thread}.jsonl", lines, stamp.at


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("megabytes", type=int)
    parser.add_argument("--texts", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--lean", action="store_true")
    parser.add_argument("--until", type=int, default=int(time.time()) // 86_400 * 86_400, help="seconds since 1970")
    arguments = parser.parse_args()
    texts = Texts(arguments.texts, random.Random(20))
    mean = 45_000 if arguments.lean else 600_000
    sessions = max(1, arguments.megabytes * 1_000_000 // mean)
    written, number = 0, 0
    while written < arguments.megabytes * 1_000_000:
        # The first session is the newest, and a year lies before it.
        start = arguments.until - 7_200 - int(YEAR * min(1, number / sessions))
        form = codex if number % 4 == 3 else claude
        name, lines, end = form(texts, number, start, arguments.lean)
        path = arguments.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = ("\n".join(lines) + "\n").encode()
        path.write_bytes(content)
        os.utime(path, (end, end))
        written += len(content)
        number += 1
    print(f"{number} sessions, {number * TURNS} turns, {written / 1e6:.0f} MB in {arguments.folder}")


if __name__ == "__main__":
    main()
