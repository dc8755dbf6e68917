"""Saves on a small disk until it is full, over HTTP, tools and the command line, and then frees some space.

    full_disk.py PATH_OF_CORTEX

What must hold: the error says what is the matter, with a code of its own; nothing that was acknowledged is lost; what is there
can be read while the disk is full; the daemon lives; saving works again as soon as there is space. The disk is a tmpfs in a
mount namespace of its own, so nothing is left behind; without a way to mount one this fails and says so.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path

DISK_BYTES = 24 << 20
FILLER_BYTES = 8 << 20
INSIDE = "CORTEX_FULL_DISK"


def main() -> None:
    if INSIDE not in os.environ:
        # A namespace of one's own needs no root where users may have namespaces.
        words = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
        sys.exit(subprocess.run([*words, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}).returncode)
    folder = Path(tempfile.mkdtemp(prefix="cortex-disk-"))
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)])
    if mounted.returncode != 0:
        sys.exit("FAIL a full disk cannot be tried: no tmpfs can be mounted here")
    machine = Machine(sys.argv[1], folder, disk)
    try:
        fill(machine)
    finally:
        machine.daemon.kill()
        machine.daemon.wait()
        subprocess.run(["umount", str(disk)], check=True)
        shutil.rmtree(folder)


class Machine:
    def __init__(self, cortex: str, folder: Path, disk: Path) -> None:
        self.cortex, self.disk = cortex, disk
        self.env = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "CORTEX_HOME": str(disk / "home"),
            "CORTEX_PORT": "0",
        }
        self.start()

    def start(self) -> None:
        words = [self.cortex, "serve", "--json"]
        self.daemon = subprocess.Popen(words, env=self.env, stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.daemon.stdout.readline())["http"]

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.cortex, *words], env=self.env, capture_output=True, text=True, timeout=120)

    def ask(self, path: str, body: object = None) -> tuple[int, dict]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        # The token of the home shows the owner.
        headers["Authorization"] = "Bearer " + (self.disk / "home" / "token").read_text().strip()
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def save(self, name: str) -> tuple[int, dict]:
        content = " ".join(f"{name}word{n}" for n in range(300))
        return self.ask("/api/observations", {"title": name, "content": content, "type": "decision", "project": "disk"})


def check(what: str, holds: bool, detail: object = "") -> None:
    print(f"{'ok  ' if holds else 'FAIL'} full disk: {what}", flush=True)
    if not holds:
        sys.exit(f"     | {detail}")


def lost(machine: Machine, saved: dict[int, str]) -> list:
    wrong = []
    for number, name in saved.items():
        status, body = machine.ask(f"/api/observations/{number}")
        if status != 200 or body["title"] != name or f"{name}word299" not in body["content"]:
            wrong.append((number, name, status, body))
    print(*wrong[:5], sep="\n     | ", end="")
    return wrong


def fill(machine: Machine) -> None:
    filler = machine.disk / "filler"
    filler.write_bytes(b"x" * FILLER_BYTES)
    saved: dict[int, str] = {}
    status, body = 201, {}
    while status == 201:
        name = f"note{len(saved)}"
        status, body = machine.save(name)
        if status == 201:
            saved[body["id"]] = name
    check(f"after {len(saved)} saves the answer is 507 and disk_full", (status, body.get("code")) == (507, "disk_full"), (status, body))
    check("it says that trying again may help, and how", body["retry"] and "space" in body.get("hint", ""), body)

    for n in range(5):
        status, body = machine.save(f"again{n}")
        check(f"try {n + 2} says the same", (status, body.get("code")) == (507, "disk_full"), (status, body))
    ran = machine.run("save", "a title", "word " * 20_000)
    check("so does the command line, with exit code 7", ran.returncode == 7 and "disk is full" in ran.stderr, ran)
    call = {"name": "mem_save", "arguments": {"title": "a title", "content": "word " * 20_000}}
    status, body = machine.ask("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    result = body.get("result", {})
    check("so does the tool, in words", result.get("isError") and "disk_full" in result["content"][0]["text"], body)

    check("all that was acknowledged is read while it is full", not lost(machine, saved), "see above")
    status, body = machine.ask("/api/search?q=note7word12")
    check("and found", status == 200 and any(hit["title"] == "note7" for hit in body), body)
    status, body = machine.ask("/healthz")
    # Health is a real read and write, so it may say that there is no room.
    told = status == 200 or (status, body.get("code")) == (503, "not_ready")
    check("the daemon is alive and says how it is", told and machine.daemon.poll() is None, body)

    machine.daemon.send_signal(signal.SIGKILL)
    machine.daemon.wait()
    machine.start()
    check("after kill -9 and a new start on the full disk nothing is lost", not lost(machine, saved), "see above")

    # Many at once: each is told yes or no, and a yes holds.
    filler.unlink()
    answers: list = []

    def save_many(worker: int) -> None:
        for n in range(400):
            name = f"w{worker}n{n}"
            answers.append((name, *machine.save(name)))

    workers = [threading.Thread(target=save_many, args=(n,)) for n in range(8)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    fresh = {body["id"]: name for name, status, body in answers if status == 201}
    refused = [(status, body.get("code")) for _, status, body in answers if status != 201]
    check(f"with space again {len(fresh)} of {len(answers)} are saved by eight at once", len(fresh) > 100, answers[:3])
    others = {answer for answer in refused if answer not in {(507, "disk_full"), (503, "busy"), (503, "poisoned")}}
    check(f"and {len(refused)} refused for want of it", refused and not others, others)
    saved |= fresh
    check("all that was acknowledged is read", not lost(machine, saved), "see above")

    subprocess.run(["mount", "-o", f"remount,size={DISK_BYTES * 8}", str(machine.disk)], check=True)
    status, body = machine.save("thelast")
    check("on a larger disk saving works at once", status == 201, (status, body))
    ran = machine.run("verify")
    check("the store is sound", ran.returncode == 0, ran)
    machine.daemon.send_signal(signal.SIGTERM)
    check("the daemon ends in peace", machine.daemon.wait(timeout=60) == 0)


main()
