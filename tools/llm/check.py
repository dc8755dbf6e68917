"""Talents end to end with a real model: a chat, a generator, an extraction by a JSON Schema, `think` through the daemon, a record of
7.5 hours in a window of 8,192 tokens, a bulletin and a page, and a tool of the reference MCP server with an approval.

    check.py PATH_OF_CORTEX PATH_OF_SERVER_EVERYTHING
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

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
    "minutes": '{\n  "title": "Minutes",\n  "output": "md",\n  "max_tokens": 120,\n  "load": {"transcripts": "required"}\n}\n\n'
    "What was decided, and who does what?",
    "caller": '{\n  "title": "Caller",\n  "tools": ["everything__echo"],\n  "max_tokens": 80\n}\n\n'
    "Use the tool to say hello, then say what it answered.",
}
LONG_DAY = "20260110"
WINDOW = 8192
# Waits for the model; a bulletin that it does not write in this time is written by rules.
BULLETIN_SECONDS = 120


def talk() -> str:
    """A record of seven and a half hours: somebody says something every minute."""
    people = ["Ada", "Bo", "Cleo", "Dan"]
    things = ["the importer", "the login page", "the nightly job", "the price list", "the search box", "the invoice run"]
    lines = []
    for minute in range(450):
        who, what = people[minute % 4], things[minute % 6]
        lines.append(
            f"{9 + minute // 60:02}:{minute % 60:02} {who}: We looked at {what} again, number {minute}. It is slower than last week, "
            f"and {people[(minute + 1) % 4]} thinks that the cache is the reason. We keep an eye on it and measure tomorrow morning."
        )
    return "\n\n".join(lines)


class Home:
    def __init__(self, cortex: str, folder: pathlib.Path, address: str, everything: str) -> None:
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
            f"[providers.windows]\nsmollm2 = {WINDOW}\n"
            f"[defaults.bulletin]\nmodel_timeout_secs = {BULLETIN_SECONDS}\n"
            "[defaults.warmup]\nenabled = false\n"
            f'[tools.servers.everything]\ncommand = "node"\nargs = ["{everything}", "stdio"]\napproval = "ask"\n'
        )

    def run(self, *arguments: str, stdin: str = "") -> str:
        command = [self.cortex, "--home", str(self.folder), *arguments]
        ran = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=1900, check=False)
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
    # The whole way: the daemon is started, its runner starts the talent, the output is indexed, the run is attested.
    try:
        report = json.loads(home.run("think", "--day", DAY, "--talent", "summary", "--refresh", "--json"))
        unit = report["units"][0]
        expect(unit["state"] == "finished" and unit["indexed"] is True, f"think: {report}")
        # Whatever it said, a word of it is found.
        word = max((word for word in written.read_text().split() if word.isalpha()), key=len)
        found = home.run("search", "--outputs", word, "--json")
        expect('"talent":"summary"' in found, f"{word} is found: {found}")
    finally:
        home.run("stop")
    print(f"think: {unit['talent']} finished in {unit['seconds']:.1f} s and is found by --outputs")
    long_record(home)
    bulletin_and_page(home)
    tool_with_approval(home)


def long_record(home: Home) -> None:
    """T18: a record that is far longer than the window is read by parts, none of which is larger than the window."""
    added = json.loads(home.run("chronicle", "add", "--day", LONG_DAY, "--at", "09:00", "--json", stdin=talk()))
    began = time.monotonic()
    out = home.run("talent", "exec", stdin=json.dumps({"use_id": "1736432400001", "name": "minutes", "day": LONG_DAY, "segment": added["segment"], "timeout_seconds": 1800}) + "\n")
    events = [json.loads(line) for line in out.splitlines()]
    parts = [event for event in events if event["event"] == "progress"]
    finish = events[-1]
    expect(finish["event"] == "finish", f"the long record: {finish}")
    expect(len(parts) > 3 and parts[-1]["part"] == parts[-1]["parts"], f"it was read by parts: {parts}")
    sizes = [event["usage"]["total_tokens"] for event in events if event["event"] == "usage"]
    expect(len(sizes) > len(parts) and max(sizes) <= WINDOW, f"every request fits the window: {sizes}")
    print(f"largest request and answer: {max(sizes)} of {WINDOW} tokens")
    print(f"long record: {len(parts)} parts in {time.monotonic() - began:.0f} s, {finish['usage']['input_tokens']} tokens read: {finish['result'].strip()[:120]!r}")


def bulletin_and_page(home: Home) -> None:
    """T9, T11: what the model writes passes the checks, or rules write; either way it is there in its time and cited."""
    for title, kind in [
        ("Orders are kept in PostgreSQL 17", "decision"),
        ("The payment service listens on port 8443", "discovery"),
        ("Never deploy on a Friday", "rule"),
        ("Release the checkout page", "todo"),
    ]:
        home.run("save", title, f"{title}. Said by Ada in the weekly meeting.", "--type", kind)
    began = time.monotonic()
    bulletin = json.loads(home.run("bulletin", "--refresh", "--explain", "--json"))["bulletin"]
    took = time.monotonic() - began
    # Two audiences at most, and a little for the rest.
    expect(took < 2 * BULLETIN_SECONDS + 10, f"the bulletin took {took:.0f} s")
    expect("deploy on a Friday" in bulletin["text"] and "[#" in bulletin["text"], f"what binds is in it: {bulletin['text']}")
    why = bulletin.get("fallback") or "it passed"
    print(f"bulletin: by {bulletin['made_by']} in {took:.0f} s ({why})")
    home.run("page", "add", "payments", "What do we know about the payment service?")
    report = json.loads(home.run("mind", "run", "pages", "--json"))["report"]
    page = json.loads(home.run("page", "show", "payments", "--json"))
    expect("8443" in page["text"] and page["cited"], f"the page: {page}")
    print(f"page: by {page['made_by']} ({page.get('fallback') or 'it passed'}); {report['summary']}")


def tool_with_approval(home: Home) -> None:
    """T20: the model wants a tool of the reference server; a person says yes; it is used once."""
    try:
        started = json.loads(home.run("talent", "run", "caller", "Say hello.", "--detach", "--json"))
        run, deadline = started["use_id"], time.monotonic() + 180
        waiting: list = []
        while not waiting:
            expect(time.monotonic() < deadline, f"nobody was asked: {home.run('talent', 'log', run)}")
            time.sleep(0.2)
            waiting = json.loads(home.run("talent", "approvals", "--json"))["approvals"]
        call = waiting[0]
        expect(call["tool"] == "everything__echo" and call["run"] == run, f"what waits: {call}")
        home.run("talent", "approve", call["id"])
        while True:
            expect(time.monotonic() < deadline, "the run ends")
            time.sleep(0.2)
            listed = json.loads(home.run("talent", "log", "caller", "--json"))["runs"]
            if listed and listed[0]["use_id"] == run:
                break
        events = [json.loads(line) for line in home.run("talent", "log", run, "--json").splitlines()]
        ends = [event for event in events if event["event"] == "tool_end"]
        expect(len(ends) == 1 and "Echo" in json.dumps(ends[0]), f"the tool was used once: {ends}")
        terminal = [event for event in events if event["event"] in ("finish", "error")]
        expect(len(terminal) == 1 and terminal[0]["event"] == "finish", f"one end: {terminal}")
        print(f"tool: {call['tool']} {json.dumps(call['args'])} was approved and used once")
    finally:
        home.run("stop")


def main() -> None:
    cortex, everything = sys.argv[1:]
    server = subprocess.Popen(
        [sys.executable, str(HERE / "serve.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        address = server.stdout.readline().strip()
        expect(address.startswith("http://127.0.0.1:"), f"the model is served on loopback: {address!r}")
        with tempfile.TemporaryDirectory() as folder:
            check(Home(cortex, pathlib.Path(folder).resolve(), address, everything))
    finally:
        server.stdin.close()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
    print("a real model answered a chat, wrote an output, filled a schema, read a long record by parts and used a tool")


if __name__ == "__main__":
    main()
