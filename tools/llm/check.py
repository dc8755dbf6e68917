"""Talents end to end with a real model: a chat, a generator, an extraction by a JSON Schema, and `think` through the daemon.

    check.py PATH_OF_CORTEX
"""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
DAY = "20260109"
SEGMENT = "140000_300"
NOTE = (
    "Ada and Bo met about the web shop. They decided to keep the store in one file per customer, because backups get simple. "
    "Bo will write the migration by Friday. The budget for it is 40 hours."
)

TALENTS = {
    "_system": "You are helpful and brief.",
    "hello": "Answer the owner in one short sentence.",
    "summary": '{\n  "title": "Summary",\n  "schedule": "segment",\n  "priority": 20,\n  "output": "md",\n  "max_tokens": 80,\n'
    '  "load": {"transcripts": "required"}\n}\n\nSum up the record above in one or two sentences.',
    "facts": '{\n  "title": "Facts",\n  "output": "json",\n  "max_tokens": 120,\n  "load": {"transcripts": "required"},\n'
    '  "schema": {"type": "object", "additionalProperties": false, "required": ["who", "hours"], "properties": '
    '{"who": {"type": "string", "maxLength": 40}, "hours": {"type": "integer"}}}\n}\n\n'
    "Who will write the migration, and how many hours may it take?",
}


class Home:
    def __init__(self, cortex: str, folder: pathlib.Path, address: str) -> None:
        self.cortex = cortex
        self.folder = folder
        talents = folder / "talent"
        talents.mkdir(parents=True)
        for name, text in TALENTS.items():
            (talents / f"{name}.md").write_text(text + "\n")
        (folder / "cortex.toml").write_text(
            '[providers]\ndefault = { provider = "small", tier = 3 }\n'
            '[providers.models.small]\n"1" = "smollm2"\n'
            f'[providers.endpoints.small]\nkind = "openai"\nbase_url = "{address}/v1"\n'
        )

    def run(self, *arguments: str, stdin: str = "") -> str:
        command = [self.cortex, "--home", str(self.folder), *arguments]
        ran = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=600, check=False)
        if ran.returncode != 0:
            sys.exit(f"cortex {' '.join(arguments)} ended with {ran.returncode}:\n{ran.stdout}\n{ran.stderr}")
        return ran.stdout

    def talent(self, **request: object) -> dict:
        """Runs a talent process; gives its last event, after a look at all of them."""
        out = self.run("talent", "exec", stdin=json.dumps({"use_id": "1736432400000", **request}) + "\n")
        events = [json.loads(line) for line in out.splitlines()]
        names = [event["event"] for event in events]
        expect(names[0] == "start" and names[-1] == "finish", f"events of {request['name']}: {names} {events[-1]}")
        expect(events[0]["provider"] == "small" and events[0]["model"] == "smollm2", f"the model: {events[0]}")
        finish = events[-1]
        expect(finish["result"].strip() != "", "an answer")
        expect(finish["usage"]["output_tokens"] > 0 and finish["usage"]["input_tokens"] > 0, "usage was counted")
        return finish


def expect(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"FAILED: {what}")


def check(home: Home) -> None:
    home.run("talent", "check")
    expect("small, smollm2" in home.run("talent", "explain", "hello"), "explain names the model")
    chat = home.talent(name="hello", prompt="Say hello to Ada.", chat_id="greeting")
    print(f"chat: {chat['result'].strip()!r}")
    again = home.talent(name="hello", prompt="And to Bo.", chat_id="greeting")
    expect(again["usage"]["input_tokens"] > chat["usage"]["input_tokens"], "the conversation goes on")
    home.run("chronicle", "add", "--day", DAY, "--at", "14:00", stdin=NOTE)
    where = {"day": DAY, "segment": SEGMENT}
    summary = home.talent(name="summary", **where)
    written = pathlib.Path(summary["output_path"])
    expect(written == home.folder / "chronicle" / DAY / SEGMENT / "summary.md", f"the output's place: {written}")
    expect(written.read_text().strip() == summary["result"].strip(), "the output is the answer")
    print(f"generator: {summary['result'].strip()!r}")
    facts = home.talent(name="facts", **where)
    found = json.loads(pathlib.Path(facts["output_path"]).read_text())
    expect(set(found) == {"who", "hours"} and isinstance(found["hours"], int), f"the shape of the extraction: {found}")
    expect(facts["schema_validation"]["valid"] is True, f"the verdict: {facts['schema_validation']}")
    print(f"extraction: {json.dumps(found)}")
    # The whole way: the daemon is started, its runner starts the talent, the output becomes a memory, the run is attested.
    try:
        report = json.loads(home.run("think", "--day", DAY, "--talent", "summary", "--refresh", "--json"))
        unit = report["units"][0]
        expect(unit["state"] == "finished" and unit["indexed"] is True, f"think: {report}")
        memories = json.loads(home.run("search", "summary", "--json"))["hits"]
        expect(any(memory["title"].startswith("Summary, 2026-01-09") for memory in memories), f"it is remembered: {memories}")
    finally:
        home.run("stop")
    print(f"think: {unit['talent']} finished in {unit['seconds']:.1f} s and is in the memory")


def main() -> None:
    cortex = sys.argv[1]
    server = subprocess.Popen(
        [sys.executable, str(HERE / "serve.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        address = server.stdout.readline().strip()
        expect(address.startswith("http://127.0.0.1:"), f"the model is served on loopback: {address!r}")
        with tempfile.TemporaryDirectory() as folder:
            check(Home(cortex, pathlib.Path(folder).resolve(), address))
    finally:
        server.stdin.close()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
    print("a real model answered a chat, wrote an output and filled a schema")


if __name__ == "__main__":
    main()
