// Tries `cortex setup` with real agents: settings that are there before, the agent's own word on the server, hooks that
// fire, and settings that are the same to the byte after `--remove`. No login, no network needed by the agents.
//
// Output of agents is matched loosely: it is no stable interface.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const [cortex, ...wanted] = process.argv.slice(2);
const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
let failures = 0;

function check(what, holds, detail = "") {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
  if (!holds) {
    failures += 1;
    if (detail) console.log(String(detail).trimEnd().replace(/^/gm, "     | "));
  }
}

/** A home of its own with `cortex` on PATH, and nothing of the machine's settings. */
class Machine {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "cortex-client-"));
    this.home = path.join(this.folder, "home");
    this.project = path.join(this.folder, "project");
    const bin = path.join(this.folder, "bin");
    for (const folder of [this.home, this.project, bin]) fs.mkdirSync(folder);
    fs.symlinkSync(cortex, path.join(bin, "cortex"));
    this.env = {
      HOME: this.home,
      PATH: `${bin}:${process.env.PATH}`,
      TERM: "dumb",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      DISABLE_AUTOUPDATER: "1",
    };
  }

  write(name, text) {
    const file = path.join(this.home, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }

  read(name) {
    return fs.readFileSync(path.join(this.home, name), "utf8");
  }

  run(program, words, seconds = 90) {
    const ran = spawnSync(program, words, {
      cwd: this.project,
      env: this.env,
      timeout: seconds * 1000,
      killSignal: "SIGKILL",
      encoding: "utf8",
      input: "",
    });
    return { code: ran.status, text: `${ran.stdout ?? ""}${ran.stderr ?? ""}`, out: ran.stdout ?? "" };
  }

  cortex(...words) {
    return this.run("cortex", words);
  }

  /** Kinds of the entries that hooks left behind. */
  kinds() {
    const lines = this.cortex("journal", "--json").out.split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line)).flatMap((entry) => entry.kind ?? []);
  }

  /** Every file below the home, with its bytes. */
  everything() {
    const found = {};
    for (const entry of fs.readdirSync(this.home, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      found[path.relative(this.home, file)] = entry.isFile() ? fs.readFileSync(file, "latin1") : null;
    }
    return found;
  }

  end() {
    // The daemon that an agent started would outlive its home.
    this.cortex("stop");
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** Set-up and removal without the agent in between leave every byte as it was. */
function checkRemoval(machine, agent) {
  const before = JSON.stringify(machine.everything());
  const up = machine.cortex("setup", agent);
  check(`${agent}: setup succeeds`, up.code === 0, up.text);
  const again = machine.cortex("setup", agent);
  check(`${agent}: a second setup changes nothing`, again.text.includes("nothing to change"), again.text);
  machine.cortex("setup", agent, "--remove");
  check(`${agent}: --remove leaves every byte as it was`, JSON.stringify(machine.everything()) === before);
  machine.cortex("setup", agent);
}

function checkServer(what, text) {
  check(what, /cortex.*(✔|✓|connected)/i.test(text) && !/cortex.*(✘|✗|fail|disconnected)/i.test(text), text);
}

const CLAUDE = '{\n  "numStartups": 3,\n  "mcpServers": {\n    "other": { "type": "stdio", "command": "true", "args": [] }\n  }\n}\n';
const CLAUDE_SETTINGS = '{\n\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t{ "hooks": [{ "type": "command", "command": "true" }] }\n\t\t]\n\t}\n}';

function initOf(ran) {
  const lines = ran.out.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line)).find((event) => event.subtype === "init");
}

function checkClaudeSession(machine, what) {
  const ran = machine.run("claude", ["-p", "hi", "--output-format", "stream-json", "--verbose"]);
  const init = initOf(ran);
  const server = init?.mcp_servers?.find((server) => server.name.includes("cortex"));
  check(`${what}: a session shows the server connected`, server?.status === "connected", JSON.stringify(init?.mcp_servers));
  const tools = init?.tools?.filter((tool) => /mcp__.*cortex__mem_/.test(tool)) ?? [];
  check(`${what}: and its tools (${tools.length})`, tools.length > 0, JSON.stringify(init?.tools));
  const kinds = machine.kinds();
  for (const kind of ["session_start", "prompt", "session_end"]) {
    check(`${what}: the hook left a ${kind}`, kinds.includes(kind), kinds.join(" "));
  }
}

function claude() {
  const machine = new Machine();
  machine.write(".claude.json", CLAUDE);
  machine.write(".claude/settings.json", CLAUDE_SETTINGS);
  checkRemoval(machine, "claude-code");
  checkServer("claude-code: `claude mcp list`", machine.run("claude", ["mcp", "list"]).text);
  checkClaudeSession(machine, "claude-code");
  // Claude Code writes its state file itself; the settings are the user's.
  machine.cortex("setup", "claude-code", "--remove");
  check("claude-code: settings are as before after a session", machine.read(".claude/settings.json") === CLAUDE_SETTINGS);
  const state = JSON.parse(machine.read(".claude.json"));
  check("claude-code: only our server is gone", JSON.stringify(Object.keys(state.mcpServers)) === '["other"]');
  machine.end();
}

/** Talks to Codex's app-server, one JSON object per line. */
async function codexAppServer(machine, requests) {
  const child = spawn("codex", ["app-server"], { cwd: machine.project, env: machine.env, stdio: ["pipe", "pipe", "ignore"] });
  const answers = {};
  const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const all = [["initialize", { clientInfo: { name: "check", version: "1" } }], ...requests];
  let next = 0;
  const ask = () => {
    const [method, params] = all[next];
    send({ id: next, method, params });
  };
  ask();
  for await (const line of createInterface({ input: child.stdout })) {
    const message = JSON.parse(line);
    if (message.id !== next || message.method) continue;
    answers[all[next][0]] = message.result ?? message.error;
    if (next === 0) send({ method: "initialized" });
    next += 1;
    if (next === all.length) break;
    ask();
  }
  clearTimeout(timer);
  child.kill("SIGKILL");
  return answers;
}

async function checkCodexSession(machine, what) {
  const answers = await codexAppServer(machine, [["mcpServerStatus/list", {}], ["hooks/list", { cwds: [machine.project] }]]);
  const servers = answers["mcpServerStatus/list"]?.data ?? [];
  const server = servers.find((server) => server.name === "cortex");
  const tools = Object.keys(server?.tools ?? {}).filter((tool) => tool.startsWith("mem_"));
  check(`${what}: the app-server lists the tools (${tools.length})`, tools.length > 0, JSON.stringify(servers).slice(0, 2000));
  const hooks = JSON.stringify(answers["hooks/list"] ?? {});
  for (const event of ["session-start", "prompt-submit", "pre-compact", "session-end", "subagent-stop"]) {
    check(`${what}: the app-server lists the hook ${event}`, hooks.includes(`hook ${event} --agent`), hooks.slice(0, 2000));
  }
  machine.run("codex", ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "hi"], 10);
  const kinds = machine.kinds();
  for (const kind of ["session_start", "prompt"]) {
    check(`${what}: the hook left a ${kind}`, kinds.includes(kind), kinds.join(" "));
  }
}

async function codex() {
  const machine = new Machine();
  machine.write(".codex/config.toml", '# mine\r\nmodel = "x" # keep\r\n\r\n[mcp_servers.other]\r\ncommand = "true"\r\n');
  checkRemoval(machine, "codex");
  await checkCodexSession(machine, "codex");
  machine.cortex("setup", "codex", "--remove");
  check("codex: nothing of ours is left in config.toml", !machine.read(".codex/config.toml").includes("cortex"));
  machine.end();
}

function gemini() {
  const machine = new Machine();
  machine.write(".gemini/settings.json", '{\n    // mine\n    "ui": { "theme": "Default" },\n    "mcpServers": {}\n}\n');
  checkRemoval(machine, "gemini-cli");
  checkServer("gemini-cli: `gemini mcp list`", machine.run("gemini", ["mcp", "list"]).text);
  machine.end();
}

function opencode() {
  const machine = new Machine();
  machine.write(".config/opencode/opencode.jsonc", '{\n  // mine\n  "share": "disabled",\n  "mcp": {\n    "other": { "type": "local", "command": ["true"], "enabled": false }, // keep\n  },\n}\n');
  checkRemoval(machine, "opencode");
  // At its first start it installs a package of its own, which takes minutes on a busy machine.
  const ran = machine.run("opencode", ["mcp", "list"], 420);
  checkServer("opencode: `opencode mcp list`", ran.text);
  // It ends with an error for want of a model, after the plugin heard of the session.
  machine.run("opencode", ["run", "hi"], 120);
  const kinds = machine.kinds();
  check("opencode: the plugin left a session_start", kinds.includes("session_start"), kinds.join(" "));
  machine.end();
}

/** The plugin folder, in both agents that take it. */
async function plugin() {
  const machine = new Machine();
  for (const folder of [path.join(repository, "plugin"), repository]) {
    const ran = machine.run("claude", ["plugin", "validate", "--strict", folder]);
    check(`plugin: claude validates ${path.basename(folder)}`, ran.code === 0, ran.text);
  }
  for (const words of [["marketplace", "add", repository], ["install", "cortex@cortex"]]) {
    const ran = machine.run("claude", ["plugin", ...words]);
    check(`plugin: claude plugin ${words[0]}`, ran.code === 0, ran.text);
  }
  checkClaudeSession(machine, "plugin in claude");
  machine.end();

  const other = new Machine();
  for (const words of [["marketplace", "add", repository], ["add", "cortex@cortex"]]) {
    const ran = other.run("codex", ["plugin", ...words]);
    check(`plugin: codex plugin ${words[0]}`, ran.code === 0, ran.text);
  }
  await checkCodexSession(other, "plugin in codex");
  other.end();
}

const checks = { claude, codex, gemini, opencode, plugin };
for (const [name, run] of Object.entries(checks)) {
  if (wanted.length === 0 || wanted.includes(name)) await run();
}
console.log(failures === 0 ? "every agent is fine" : `${failures} checks failed`);
process.exit(failures === 0 ? 0 : 1);
