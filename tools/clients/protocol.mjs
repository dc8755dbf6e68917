// Tries the tools with the inspector of MCP, over standard streams and HTTP, in both generations of the protocol, and runs the
// conformance suite against /mcp.
//
//   node protocol.mjs PATH_OF_CORTEX [inspector|conformance ...]
//
// The suite's server has tools, prompts and resources of its own, which a product does not ship. Scenarios that need them are
// in expected-failures/, one file per revision of the protocol, and nothing else is: a failure that does not name one of
// them fails here, listed or not, and so does a scenario that is listed and passes.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const [cortex, ...wanted] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const REVISIONS = ["2025-11-25", "2026-07-28"];
const ERAS = ["legacy", "modern"];
let failures = 0;

function check(what, holds, detail = "") {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
  if (!holds) {
    failures += 1;
    if (detail) console.log(String(detail).trimEnd().slice(0, 4000).replace(/^/gm, "     | "));
  }
}

/** A home of its own and a daemon in it, with HTTP on a free port. */
class Daemon {
  static async start() {
    const daemon = new Daemon();
    daemon.folder = fs.mkdtempSync(path.join(os.tmpdir(), "cortex-protocol-"));
    daemon.env = { HOME: daemon.folder, PATH: process.env.PATH, CORTEX_HOME: path.join(daemon.folder, "memory"), CORTEX_PORT: "0" };
    daemon.child = spawn(cortex, ["serve", "--json"], { env: daemon.env, stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface({ input: daemon.child.stdout })) {
      daemon.url = JSON.parse(line).http;
      break;
    }
    if (!daemon.url) throw new Error("the daemon did not say where it listens");
    daemon.url = await daemon.asOwner();
    return daemon;
  }

  run(program, words) {
    const ran = spawnSync(program, words, {
      cwd: this.folder,
      env: this.env,
      timeout: 120_000,
      killSignal: "SIGKILL",
      encoding: "utf8",
      input: "",
      maxBuffer: 64 << 20,
    });
    return { code: ran.status, out: ran.stdout ?? "", text: `${ran.stdout ?? ""}${ran.stderr ?? ""}` };
  }

  /** An address that adds the token to every request, for programs that cannot send a header of their own. */
  async asOwner() {
    const words = [path.join(here, "as_owner.mjs"), this.url, path.join(this.env.CORTEX_HOME, "token")];
    this.proxy = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    for await (const line of createInterface({ input: this.proxy.stdout })) return line;
    throw new Error("the proxy did not say where it listens");
  }

  async end() {
    this.proxy?.kill();
    const alive = this.child.exitCode === null;
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGTERM");
    if (alive) await gone;
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    return alive;
  }
}

/** The arguments of one call, as the inspector takes them. */
function words(given, kept) {
  return Object.entries(given).flatMap(([name, value]) => {
    const known = typeof value === "string" && value.startsWith("$") ? kept[value.slice(1)] : value;
    return ["--tool-arg", `${name}=${known}`];
  });
}

async function inspector() {
  const { calls } = JSON.parse(fs.readFileSync(path.join(here, "calls.json"), "utf8"));
  for (const era of ERAS) {
    for (const over of ["HTTP", "stdio"]) {
      const daemon = await Daemon.start();
      // A client of standard streams hands on few variables unless it is told.
      const target = over === "HTTP" ? [`${daemon.url}/mcp`] : [cortex, "mcp", "-e", `CORTEX_HOME=${daemon.env.CORTEX_HOME}`];
      const what = `inspector, ${era}, ${over}`;
      const ask = (...more) => daemon.run("mcp-inspector", ["--cli", ...target, "--protocol-era", era, "--format", "json", ...more]);
      const listed = ask("--method", "tools/list", "--strict");
      check(`${what}: the list of tools has no problem of portability`, listed.code === 0, listed.text);
      const names = listed.code === 0 ? JSON.parse(listed.out).result.tools.map((tool) => tool.name) : [];
      const called = new Set(calls.map((call) => call.tool));
      check(`${what}: each of ${names.length} tools is called`, names.length > 0 && names.every((name) => called.has(name)), names.join(" "));
      const kept = {};
      for (const call of calls) {
        const ran = ask("--method", "tools/call", "--tool-name", call.tool, ...words(call.arguments, kept));
        const result = ran.code === 0 ? JSON.parse(ran.out).result : undefined;
        if (call.keep) kept[call.keep] = result?.structuredContent?.id;
        const text = result?.content?.[0]?.text ?? "";
        check(`${what}: ${call.tool}`, !!result?.structuredContent && text.includes(call.has), ran.text);
      }
      const wrong = ask("--method", "tools/call", "--tool-name", "mem_get_observation", "--tool-arg", "id=999999999");
      check(`${what}: an unknown id is an error of the tool`, wrong.code === 5, `${wrong.code} ${wrong.text}`);
      const read = ask("--method", "resources/read", "--uri", `cortex://memory/${kept.first}`);
      check(`${what}: a resource is read`, read.code === 0 && read.out.includes("redb"), read.text);
      const prompt = ask("--method", "prompts/get", "--prompt-name", "recall", "--prompt-args", "topic=stores");
      check(`${what}: a prompt is got`, prompt.code === 0 && prompt.out.includes("stores"), prompt.text);
      check(`${what}: the daemon is alive`, await daemon.end());
    }
  }
}

/** What a failure of a check says if only the suite's own server can pass it. */
const FIXTURE = [
  /no tool \\?"(test_\w+)/,
  /no prompt \\?"(test_\w+)/,
  /Tool '(json_schema_2020_12_tool)' not found/,
  /^Not testable: server (does not list the diagnostic tool|exposes no tool with)/,
];
/** Scenarios whose failure does not say what is missing, and the resource, tool or capability of it that they ask for. */
const ASKS_FOR = {
  "resources-read-text": "test://static-text",
  "resources-read-binary": "test://static-binary",
  "resources-templates-read": "test://template/123/data",
  "resources-subscribe": "test://watched-resource",
  "resources-unsubscribe": "test://watched-resource",
  "input-required-result-multi-round": "test_input_required_result_multi_round",
  "input-required-result-tampered-state": "test_input_required_result_tampered_state",
};

function expected(revision) {
  const text = fs.readFileSync(path.join(here, "expected-failures", `${revision}.yml`), "utf8");
  return text.split("\n").flatMap((line) => line.match(/^ {2}- (\S+)/)?.[1] ?? []);
}

/** Checks that failed, by scenario. */
function failed(folder) {
  const found = {};
  for (const name of fs.readdirSync(folder)) {
    const file = path.join(folder, name, "checks.json");
    const scenario = name.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    const all = JSON.parse(fs.readFileSync(file, "utf8"));
    found[scenario] = all.filter((one) => one.status === "FAILURE");
  }
  return found;
}

async function conformance() {
  for (const revision of REVISIONS) {
    const daemon = await Daemon.start();
    const folder = path.join(daemon.folder, "results");
    const ran = daemon.run("conformance", ["server", "--url", `${daemon.url}/mcp`, "--requirements", revision, "-o", folder]);
    const unscored = [...ran.text.split("Not scored for")[1]?.matchAll(/^ {2}[✓✗] (\S+)/gm) ?? []].map((match) => match[1]);
    const results = failed(folder);
    const known = new Set(expected(revision));
    const scored = Object.keys(results).filter((scenario) => !unscored.includes(scenario));
    let passed = 0;
    for (const scenario of scored) {
      if (results[scenario].length === 0) passed += 1;
      for (const one of results[scenario]) {
        const names = [scenario, `${scenario}:${one.id}`];
        const message = one.errorMessage ?? "";
        const fixture = FIXTURE.some((pattern) => pattern.test(message)) || scenario in ASKS_FOR;
        check(
          `conformance ${revision}: ${names[1]} fails for want of a fixture, as expected`,
          fixture && names.some((name) => known.has(name)),
          message,
        );
      }
    }
    for (const name of known) {
      const [scenario, id] = name.split(":");
      const still = results[scenario]?.some((one) => !id || one.id === id);
      check(`conformance ${revision}: ${name} is still a failure`, still, "take it out of the file");
    }
    check(`conformance ${revision}: ${passed} of ${scored.length} scored scenarios pass without a fixture`, passed > 0, ran.text);
    check(`conformance ${revision}: the daemon is alive`, await daemon.end());
  }
}

const checks = { inspector, conformance };
for (const [name, run] of Object.entries(checks)) {
  if (wanted.length === 0 || wanted.includes(name)) await run();
}
console.log(failures === 0 ? "the protocol is fine" : `${failures} checks failed`);
process.exit(failures === 0 ? 0 : 1);
