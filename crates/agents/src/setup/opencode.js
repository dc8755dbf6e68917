// Written by `cortex setup opencode`; `cortex setup opencode --remove` deletes it. Changes made here are lost.
//
// OpenCode has no hooks in its settings, only plugins. This one hands each event to `cortex hook` and adds what comes back
// to the system prompt. If Cortex is missing, slow or fails, OpenCode goes on as if it were not there.

import { spawn } from "node:child_process";

const PROGRAM = "@PROGRAM@";
const OPTIONS = ["@OPTIONS@"];
const LIMIT_MS = 5000;

function hook(event, input) {
  return new Promise((resolve) => {
    let text = "";
    const words = ["hook", event, "--agent", "opencode", ...OPTIONS];
    const child = spawn(PROGRAM, words, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
    const timer = setTimeout(() => child.kill(), LIMIT_MS);
    const end = () => {
      clearTimeout(timer);
      try {
        resolve(JSON.parse(text || "{}"));
      } catch {
        resolve({});
      }
    };
    child.on("error", end);
    child.on("close", end);
    child.stdout.on("data", (chunk) => (text += chunk));
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(input));
  });
}

export const Cortex = async ({ directory }) => {
  const contexts = new Map(); // what memory says, by session
  const nudges = new Map(); // what it says about the last prompt, by session
  const tools = new Map(); // what it says about the tool in use, by session
  const children = new Set(); // sessions of sub-agents, which have no memory life of their own

  const about = (session) => ({ session_id: session, cwd: directory });
  const start = async (session, source) => {
    if (!session || contexts.has(session) || children.has(session)) return;
    contexts.set(session, "");
    const reply = await hook("session-start", { ...about(session), source });
    contexts.set(session, reply.context ?? "");
  };
  const end = async (session, reason) => {
    nudges.delete(session);
    tools.delete(session);
    children.delete(session);
    if (contexts.delete(session)) await hook("session-end", { ...about(session), reason });
  };

  return {
    event: async ({ event }) => {
      const info = event.properties?.info;
      const session = event.properties?.sessionID ?? info?.id;
      if (event.type === "session.created") {
        if (info?.parentID) children.add(session);
        else await start(session, "startup");
      } else if (event.type === "session.compacted") {
        contexts.delete(session);
        await start(session, "compact");
      } else if (event.type === "session.deleted") {
        await end(session, "deleted");
      }
    },
    "chat.message": async (input, output) => {
      const session = input.sessionID;
      if (children.has(session)) return;
      await start(session, "resume");
      const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic);
      const prompt = texts.map((part) => part.text).join("\n");
      if (!prompt) return;
      const reply = await hook("prompt-submit", { ...about(session), prompt });
      nudges.set(session, reply.context ?? "");
    },
    "tool.execute.before": async (input, output) => {
      if (!["bash", "edit", "write", "patch"].includes(input.tool) || children.has(input.sessionID)) return;
      const reply = await hook("pre-tool", { ...about(input.sessionID), tool_input: output.args ?? {} });
      if (reply.context) tools.set(input.sessionID, reply.context);
    },
    "tool.execute.after": async (input, output) => {
      if (input.tool !== "task") return;
      const message = output.output;
      await hook("subagent-stop", { ...about(input.sessionID), last_assistant_message: message });
    },
    "experimental.session.compacting": async (input, output) => {
      const reply = await hook("pre-compact", { ...about(input.sessionID), trigger: "auto" });
      if (reply.context) output.context.push(reply.context);
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID;
      // The small model that names a conversation needs no memory.
      if (/title generator/i.test((output.system[0] ?? "").slice(0, 300))) return;
      const text = [contexts.get(session), nudges.get(session), tools.get(session)].filter(Boolean).join("\n\n");
      if (!text) return;
      // Some models take one system block only, so the text joins the last one.
      const last = output.system.length - 1;
      if (last < 0) output.system.push(text);
      else output.system[last] += "\n\n" + text;
    },
    dispose: async () => {
      await Promise.all([...contexts.keys()].map((session) => end(session, "exit")));
    },
  };
};
