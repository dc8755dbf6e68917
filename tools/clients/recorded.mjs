// What a model reads, with real agents and a model that writes everything down: after `cortex init --yes` in a home
// with thirty memories, a prompt whose answer is stored is answered from what was injected, without a tool call; an
// unrelated prompt gets nothing; tools are called without a question; ten prompts add at most 1,500 tokens.
//
//   node tools/clients/recorded.mjs PATH_OF_CORTEX [claude|codex|gemini|opencode ...]
//
// RECORDED_DIR keeps every request as JSON lines, one file per agent and scenario.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createRequire } from "node:module";

import { RecordingModel, texts } from "./recording_model.mjs";

const [cortex, ...wanted] = process.argv.slice(2);
const TOKENS_MAX = 1_500;
/** What one text may cost: the bounds of the product, and for a save what a short word on it needs. */
const ANSWER_TOKENS = { search: 700, context: 1_200, save: 150, start: 600 };
let failures = 0;

function check(what, holds, detail = "") {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
  if (!holds) {
    failures += 1;
    if (detail) console.log(String(detail).slice(0, 3_000).trimEnd().replace(/^/gm, "     | "));
  }
}

/** Tokens of o200k, counted and not estimated. */
const { encode } = createRequire(path.join(process.env.CLIENTS_DIR, "index.js"))("gpt-tokenizer/encoding/o200k_base");
const tokens = (text) => encode(text).length;

const SUBJECTS = [
  ["decision", "Use redb for the session store", "Sessions are kept in redb because it is one file and survives a crash."],
  ["config", "Staging runs on port 8443", "The staging server listens on port 8443 behind nginx."],
  ["bugfix", "Cart total was wrong for mixed VAT", "The cart summed net prices before rounding; src/cart/total.rs rounds per line now."],
  ["decision", "Customers log in with magic links", "Passwords were dropped; a link by mail is valid for fifteen minutes."],
  ["decision", "Return window is thirty days", "Legal settled on thirty days from delivery."],
  ["discovery", "Vendor CSV uses Windows-1252", "The price list of the vendor is decoded as Windows-1252."],
  ["config", "Secrets come from Vault", "The deploy job reads secrets from Vault under kv/shop."],
  ["decision", "Emails are sent with Postmark", "Postmark was chosen over SES because of its bounce handling."],
  ["bugfix", "Worker lost jobs on deploy", "The worker ignored SIGTERM; it finishes its job now."],
  ["decision", "Prices are integers in cents", "Money is kept as integer cents with a currency code."],
];
/** Said once, in passing. */
const RULE = "Never push to the release branch without a review.";
const MEMORIES = [0, 1, 2].flatMap((round) =>
  SUBJECTS.map(([kind, title, text]) =>
    round === 0 ? [kind, title, text] : ["discovery", `${title.split(" ")[0]} note ${round}`, `Background of ${title.toLowerCase()}, part ${round}: looked at once, nothing to do.`],
  ),
);

// Known before anybody works here, so that no session begins with it.
MEMORIES[29] = ["bugfix", "The deploy hung without the VPN", "`make deploy` waits for ever unless the VPN is up."];

/** A home of its own with `cortex` and the agents on PATH, thirty memories of the project, and `cortex init --yes`. */
class Machine {
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "cortex-recorded-"));
    this.home = path.join(this.folder, "home");
    this.project = path.join(this.home, "shop");
    const bin = path.join(this.folder, "bin");
    for (const folder of [this.home, this.project, bin]) fs.mkdirSync(folder);
    fs.symlinkSync(cortex, path.join(bin, "cortex"));
    this.env = {
      HOME: this.home,
      PATH: `${bin}:${process.env.PATH}`,
      TERM: "dumb",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
    };
    spawnSync("git", ["init", "-q"], { cwd: this.project, env: this.env });
  }

  prepare() {
    for (const [kind, title, text] of MEMORIES) {
      this.now("cortex", ["save", title, text, "--kind", kind]);
    }
    const ran = this.now("cortex", ["init", "--yes", "--json"], 300);
    this.init = JSON.parse(ran.out.split("\n").find((line) => line.startsWith("{")) ?? "{}");
    return ran;
  }

  /** The names of the tools that a server of this profile lists. */
  toolsOf(profile) {
    const messages = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "recorded", version: "1" } } },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/list" },
    ];
    const input = messages.map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n").join("");
    const ran = spawnSync("cortex", ["mcp", `--tools=${profile}`], { cwd: this.project, env: this.env, timeout: 30_000, encoding: "utf8", input });
    const answers = (ran.stdout ?? "").split("\n").filter(Boolean).map((line) => JSON.parse(line));
    return new Set(answers.find((answer) => answer.id === 2)?.result.tools.map((tool) => tool.name) ?? []);
  }

  now(program, words, seconds = 120) {
    const ran = spawnSync(program, words, {
      cwd: this.project, env: this.env, timeout: seconds * 1000, killSignal: "SIGKILL", encoding: "utf8", input: "",
    });
    return { code: ran.status, out: ran.stdout ?? "", text: `${ran.stdout ?? ""}${ran.stderr ?? ""}` };
  }

  /** Runs beside us, because the model that it asks lives in this process. */
  run(program, words, env = {}, seconds = 240) {
    return new Promise((resolve) => {
      const child = spawn(program, words, {
        cwd: this.project, env: { ...this.env, ...env }, stdio: ["ignore", "pipe", "pipe"],
      });
      let text = "";
      for (const pipe of [child.stdout, child.stderr]) pipe.on("data", (chunk) => (text += chunk));
      const timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1000);
      child.on("close", (code) => {
        clearTimeout(timer);
        resolve({ code, text });
      });
    });
  }

  end() {
    this.now("cortex", ["stop"]);
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** How each agent is asked one thing without a person, with our model behind it. */
const AGENTS = {
  claude: {
    name: "claude-code",
    keeps: true,
    tool: (name) => `mcp__cortex__${name}`,
    ask: (machine, model, prompt, more = []) =>
      machine.run("claude", ["-p", prompt, "--output-format", "stream-json", "--verbose", ...more], {
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: "recorded",
      }),
    goOn: ["--continue"],
    touch: (machine) => ({
      script: [
        { tool: "Write", input: { file_path: path.join(machine.project, "src/cart/total.rs"), content: "// total\n" } },
        { tool: "Bash", input: { command: "make deploy", description: "deploy" } },
        { tool: "Bash", input: { command: "make deploy", description: "again" } },
      ],
      words: ["--permission-mode", "acceptEdits", "--allowedTools", "Bash(make deploy)"],
      edits: true,
    }),
    work: () => [{ tool: "Bash", input: { command: "echo one two three", description: "say" } }],
    compact: async (machine, model) => {
      const ask = (prompt, words) => AGENTS.claude.ask(machine, model, prompt, ["--allowedTools", "Bash(echo:*)", ...words]);
      await ask("Which format do thumbnails have?", []);
      await ask("/compact", ["--continue"]);
      return ask("Go on with the thumbnails", ["--continue"]);
    },
  },
  codex: {
    name: "codex",
    keeps: true,
    namespace: "mcp__cortex",
    tool: (name) => name,
    before: (machine, model) => {
      const file = path.join(machine.home, ".codex", "config.toml");
      const text = fs.readFileSync(file, "utf8");
      const first = 'model = "recorded"\nmodel_provider = "recorded"\n';
      const last = `\n[model_providers.recorded]\nname = "recorded"\nbase_url = "${model.url}/v1"\nwire_api = "responses"\nenv_key = "RECORDED_KEY"\nrequest_max_retries = 0\n`;
      fs.writeFileSync(file, text.includes("model_provider = ") ? text.replace(/base_url = "[^"]*"/, `base_url = "${model.url}/v1"`) : first + text + last);
    },
    ask: (machine, model, prompt, more = []) =>
      machine.run("codex", ["exec", ...more, "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt], {
        RECORDED_KEY: "recorded",
      }),
    goOn: ["resume", "--last"],
    touch: () => {
      const call = { tool: "exec_command", input: { cmd: "make deploy" } };
      return { script: [call, call], words: [] };
    },
    work: () => [{ tool: "exec_command", input: { cmd: "echo one two three" } }],
    compact: async (machine, model) => {
      const ask = (prompt, words) => AGENTS.codex.ask(machine, model, prompt, words);
      await ask("Which format do thumbnails have?", []);
      return ask("Go on with the thumbnails", ["resume", "--last", "-c", "model_auto_compact_token_limit=1"]);
    },
  },
  gemini: {
    name: "gemini-cli",
    keeps: true,
    tool: (name) => `mcp_cortex_${name}`,
    before: (machine) => {
      // With an address of our own it would choose a way to log in that headless runs refuse.
      const file = path.join(machine.home, ".gemini", "settings.json");
      const settings = JSON.parse(fs.readFileSync(file, "utf8"));
      settings.security = { auth: { selectedType: "gemini-api-key" } };
      fs.writeFileSync(file, JSON.stringify(settings, null, 2));
    },
    ask: (machine, model, prompt) =>
      machine.run("gemini", ["-m", "gemini-2.5-pro", "-p", prompt], {
        GEMINI_API_KEY: "recorded",
        GOOGLE_GEMINI_BASE_URL: model.url,
      }),
  },
  opencode: {
    name: "opencode",
    tool: (name) => `cortex_${name}`,
    before: (machine, model) => {
      const folder = path.join(machine.home, ".config", "opencode");
      const file = ["opencode.jsonc", "opencode.json"].map((name) => path.join(folder, name)).find((name) => fs.existsSync(name));
      const settings = JSON.parse(fs.readFileSync(file, "utf8"));
      settings.model = "recorded/recorded";
      settings.provider = {
        recorded: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: `${model.url}/v1`, apiKey: "recorded" },
          models: { recorded: { name: "recorded", tool_call: true } },
        },
      };
      fs.writeFileSync(file, JSON.stringify(settings, null, 2));
    },
    ask: (machine, model, prompt) => machine.run("opencode", ["run", prompt]),
  },
};

function logOf(name, scenario) {
  if (!process.env.RECORDED_DIR) return undefined;
  fs.mkdirSync(process.env.RECORDED_DIR, { recursive: true });
  return path.join(process.env.RECORDED_DIR, `${name}-${scenario}.jsonl`);
}

/** What of a request came from memory: our lines, wherever the client put them. */
function told(body) {
  const { tools, ...said } = body;
  const all = texts(said).join("\n");
  return [...new Set(all.match(/^- #\d+ .*$/gm) ?? [])];
}

/** What hooks and the server put into a text of the client's: each time it stands there, whole. */
function injected(text) {
  const ours = /(?:Cortex keeps a memory|From memory \(|Known about this|Where work stopped:|Rules that hold here:|Memory that outlives sessions)[^]*?(?=<\/system-reminder>|\n\n# |\n\nThe following|$(?![^]))/g;
  return text.match(ours) ?? [];
}

/** The tools of ours that a client offers its model, wherever it puts them. */
function ourTools(value) {
  if (Array.isArray(value)) return value.flatMap(ourTools);
  if (!value || typeof value !== "object") return [];
  if (/cortex|mem_/.test(value.name ?? "")) return [value];
  return Object.values(value).flatMap(ourTools);
}

/** All that was said, without the client's own instructions and tools. */
function conversation(body) {
  return texts(body.messages ?? body.input ?? body.contents ?? []).join("\n");
}

/** What tools answered, as the model read it. */
function results(body) {
  const found = [];
  const walk = (value) => {
    if (Array.isArray(value)) value.forEach(walk);
    else if (value && typeof value === "object") {
      const isResult = ["tool_result", "function_call_output"].includes(value.type) || value.role === "tool" || value.functionResponse;
      if (isResult) found.push(texts(value).join("\n"));
      else Object.values(value).forEach(walk);
    }
  };
  walk(body.messages ?? body.input ?? body.contents ?? body.request?.contents ?? []);
  return found;
}

async function scenario(key) {
  const agent = AGENTS[key];
  const machine = new Machine();
  const say = (what) => `${agent.name}: ${what}`;
  try {
    if (key !== "claude") fs.mkdirSync(path.join(machine.home, key === "opencode" ? ".config/opencode" : `.${key}`), { recursive: true });
    const ran = machine.prepare();
    const own = machine.init.done?.agents?.find((one) => one.agent === agent.name);
    check(say("`cortex init --yes` connects it and its tools answer"), own?.tools === 8 && !own.problem, ran.text);

    // The model says only what it was shown.
    const answer = (text) => /8443/.exec(text)?.[0] ?? "I do not know";
    const known = await new RecordingModel({ log: logOf(key, "answer"), answer }).listen();
    agent.before?.(machine, known);
    const answered = await agent.ask(machine, known, "Which port does the staging server listen on?");
    const turns = known.turns();
    check(say("a stored answer is injected with the prompt"), turns.some(({ body }) => told(body).some((line) => line.includes("8443"))), answered.text);
    check(say("and given without a tool call"), answered.text.includes("8443") && turns.length === 1, `${turns.length} turns\n${answered.text}`);
    await known.close();

    const other = await new RecordingModel({ log: logOf(key, "unrelated"), answer: () => "done" }).listen();
    agent.before?.(machine, other);
    await agent.ask(machine, other, "Write a haiku about autumn leaves");
    const last = other.turns()[0]?.body ?? {};
    const texted = texts(last.messages ?? last.input ?? last.contents ?? []).join("\n");
    check(say("an unrelated prompt gets nothing injected"), other.turns().length > 0 && !texted.includes("From memory ("), texted.slice(-1_500));
    await other.close();

    const script = [
      { tool: agent.tool("mem_search"), namespace: agent.namespace, input: { query: "return window" } },
      { tool: agent.tool("mem_context"), namespace: agent.namespace, input: {} },
      { tool: agent.tool("mem_save"), namespace: agent.namespace, input: { title: "Tried by a recorded model", content: "It can save.", type: "learning" } },
    ];
    const caller = await new RecordingModel({ log: logOf(key, "tools"), script, answer: () => "done" }).listen();
    agent.before?.(machine, caller);
    const called = await agent.ask(machine, caller, `Look it up and keep a note. ${RULE}`);
    const seen = [...new Set(caller.requests.flatMap(({ body }) => results(body)))].join("\n");
    check(say("tools are called without a question"), seen.includes("thirty days") && !/haven't granted|permission|approval/i.test(seen), `${seen}\n${called.text}`);
    whatItReads(machine, caller.turns().at(-1)?.body ?? {}, say);
    const found = machine.now("cortex", ["search", "Tried by a recorded model", "--json"]).out;
    const hits = JSON.parse(found || "{}").hits ?? [];
    check(say("and what is saved is there"), hits.some((hit) => hit.title === "Tried by a recorded model"), found);
    await caller.close();
    if (agent.keeps) {
      const listed = JSON.parse(machine.now("cortex", ["list", "--json", "--limit", "100"]).out || "{}").memories ?? [];
      const rule = listed.find((memory) => memory.type === "rule" && memory.content.includes(RULE.slice(0, -1)));
      check(say("what the person stated is kept as a rule that waits for a yes"), rule?.proposed === true, JSON.stringify(listed.slice(0, 3)));
    }

    if (agent.touch) await beforeTools(agent, key, machine, say);
    if (agent.compact) await afterCompaction(agent, key, machine, say);
    if (agent.goOn) await tenPrompts(agent, key, machine, say);
    const log = path.join(machine.home, ".cortex", "logs", "hooks.log");
    check(say("no hook had anything to complain of"), !fs.existsSync(log), fs.existsSync(log) ? fs.readFileSync(log, "utf8") : "");
  } finally {
    machine.end();
  }
}

/** Sizes of what a session that asks, looks around and saves has read, and that it names no tool that is not there. */
function whatItReads(machine, body, say) {
  const { tools: _, ...said } = body;
  const answers = results(body);
  for (const [n, tool, most] of [[0, "mem_search", ANSWER_TOKENS.search], [1, "mem_context", ANSWER_TOKENS.context], [2, "mem_save", ANSWER_TOKENS.save]]) {
    const spent = tokens(answers[n] ?? "");
    check(say(`${tool} answers with at most ${most} tokens (${spent})`), spent > 0 && spent <= most, answers[n]);
  }
  const opening = "Cortex keeps a memory";
  const begins = texts(said).filter((text) => text.includes(opening));
  const started = [...new Set(begins.map((text) => injected(text.slice(text.indexOf(opening)))[0]))];
  const spent = tokens(started.join("\n"));
  check(say(`the session began with its briefing, once, in at most ${ANSWER_TOKENS.start} tokens (${spent})`), started.length === 1 && spent <= ANSWER_TOKENS.start, started.join("\n---\n"));
  // Some clients load tools when they are first looked for, so the request does not name all that there are.
  const offered = machine.toolsOf("core");
  const named = texts(said).flatMap(injected).concat(answers).join("\n").match(/\b(?:mem|past|talent)_[a-z_]+\b/g) ?? [];
  const dead = [...new Set(named)].filter((name) => !offered.has(name));
  check(say("no text names a tool that is not there"), offered.size > 0 && named.length > 0 && dead.length === 0, `${dead} of ${[...offered]}`);
}

/** What is known of a file or a command reaches the model with the tool's own answer, and once in a session. */
async function beforeTools(agent, key, machine, say) {
  const { script, words, edits } = agent.touch(machine);
  const model = await new RecordingModel({ log: logOf(key, "tool"), script, answer: () => "done" }).listen();
  agent.before?.(machine, model);
  const ran = await agent.ask(machine, model, "Please go on", words);
  const final = model.turns().at(-1)?.body ?? {};
  const all = conversation(final);
  const once = (text) => all.split(text).length === 2;
  if (edits) {
    check(say("before an edit it reads what is known of the file, once"), all.includes("Known about this file:") && once("rounds per line"), `${all.slice(-2_500)}\n${ran.text}`);
  }
  check(say("before a command it reads what is known of it, once"), all.includes("Known about this command:") && once("unless the VPN is up"), `${all.slice(-2_500)}\n${ran.text}`);
  const listed = JSON.parse(machine.now("cortex", ["list", "--json", "--limit", "100"]).out || "{}").memories ?? [];
  const sessions = listed.filter((memory) => memory.type === "session");
  check(say("the session is kept as one event, with its command"), sessions.length === 1 && sessions[0].content.includes("make deploy"), JSON.stringify(sessions));
  await model.close();
}

/** After the agent shortened its conversation it is told again what the session came to. */
async function afterCompaction(agent, key, machine, say) {
  const script = agent.work(machine);
  const model = await new RecordingModel({
    log: logOf(key, "compaction"), script, answer: () => "We will use thumbnails in WebP instead of PNG.",
  }).listen();
  agent.before?.(machine, model);
  const ran = await agent.compact(machine, model);
  const all = conversation(model.turns().at(-1)?.body ?? {});
  check(say("after a compaction it reads what was decided"), all.includes("Said in this session, as decided:") && all.includes("WebP instead of PNG"), `${all.slice(-2_500)}\n${ran.text}`);
  check(say("and which commands worked"), all.includes("Commands that worked:") && all.includes("- echo one two three"), all.slice(-2_500));
  await model.close();
}

/** Ten prompts of one session, five of them answered by memory. */
async function tenPrompts(agent, key, machine, say) {
  const prompts = [
    "Which port does the staging server listen on?", "Rename the variable x to count",
    "How do customers log in?", "Write a haiku about rain", "How long is the return window?",
    "Make the button blue", "Which service sends our emails?", "Explain a bloom filter",
    "Where do secrets come from in the deploy job?", "Undo your last change",
  ];
  const model = await new RecordingModel({ log: logOf(key, "ten"), answer: () => "done" }).listen();
  agent.before?.(machine, model);
  for (const [n, prompt] of prompts.entries()) {
    await agent.ask(machine, model, prompt, n === 0 ? [] : agent.goOn);
  }
  const final = model.turns().at(-1)?.body ?? {};
  const { tools, ...said } = final;
  const told = texts(said).flatMap(injected);
  const spent = tokens(told.join("\n"));
  const ids = told.flatMap((text) => [...text.matchAll(/^- #(\d+) /gm)].map((match) => match[1]));
  const offered = tokens(JSON.stringify(ourTools(tools)));
  console.log(`     ${agent.name}: ${spent} tokens in ${told.length} texts over ${model.turns().length} turns, ${ids.length} lines; tools ${offered} tokens`);
  check(say(`ten prompts add at most ${TOKENS_MAX} tokens`), model.turns().length >= 10 && spent > 0 && spent <= TOKENS_MAX, `${spent} tokens, ${model.turns().length} turns\n${told.join("\n---\n")}`);
  check(say("and tell no memory twice"), new Set(ids).size === ids.length, told.join("\n---\n"));
  await model.close();
}

for (const key of Object.keys(AGENTS)) {
  if (wanted.length === 0 || wanted.includes(key)) await scenario(key);
}
if (failures > 0) {
  console.log(`${failures} failed`);
  process.exit(1);
}
