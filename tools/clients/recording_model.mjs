// A stand-in for a model: it speaks the wire of Anthropic (messages), OpenAI (responses, chat completions) and Google
// (generateContent), plays a script of tool calls, keeps every byte a client sends, and answers what it is told to.
//
// `answer(text)` gets all text of the request and returns what the model says; so a test can let it say only what it was
// shown. Nothing here is a network service: it listens on the loopback for one test.

import fs from "node:fs";
import http from "node:http";
import zlib from "node:zlib";

/** Every text inside a value, in order. */
export function texts(value) {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(texts);
  if (value && typeof value === "object") return Object.values(value).flatMap(texts);
  return [];
}

function unpacked(bytes, encoding) {
  if (encoding === "gzip") return zlib.gunzipSync(bytes);
  if (encoding === "br") return zlib.brotliDecompressSync(bytes);
  if (encoding === "zstd") return zlib.zstdDecompressSync(bytes);
  return bytes;
}

export class RecordingModel {
  /**
   * `script`: [{ tool, input, namespace? }] played one after the other in requests that offer tools; of a model that
   * `insists`, also in those that offer none.
   */
  constructor({ log, script = [], answer = () => "done", insists = false }) {
    this.insists = insists;
    this.requests = [];
    this.script = [...script];
    this.answer = answer;
    this.log = log;
    this.server = http.createServer((request, response) => this.take(request, response));
  }

  async listen() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
    return this;
  }

  close() {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }

  /** The requests in which the client asked for a whole turn, not for a title or a check. */
  turns() {
    return this.requests.filter(({ body }) => (body.tools?.length ?? 0) > 0);
  }

  take(request, response) {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const raw = Buffer.concat(chunks);
      let body = {};
      try {
        body = JSON.parse(unpacked(raw, request.headers["content-encoding"]).toString("utf8") || "{}");
      } catch {
        body = { unread: raw.length };
      }
      const path = request.url.split("?")[0];
      if (request.method === "POST") {
        this.requests.push({ path, body, bytes: raw.length });
        if (this.log) fs.appendFileSync(this.log, JSON.stringify({ path, body }) + "\n");
      }
      this.reply(path, request, body, response);
    });
  }

  /** The next thing the model does: a call of the script, or words. */
  next(body) {
    const offers = (body.tools?.length ?? 0) > 0;
    if ((offers || this.insists) && this.script.length > 0) return { call: this.script.shift() };
    const { tools, ...said } = body;
    return { text: this.answer(texts(said).join("\n")) };
  }

  reply(path, request, body, response) {
    const json = (value) => {
      const bytes = Buffer.from(JSON.stringify(value));
      response.writeHead(200, { "content-type": "application/json", "content-length": bytes.length });
      response.end(bytes);
    };
    if (request.method !== "POST") return json({ data: [], models: [] });
    if (path.includes("count_tokens") || path.includes("countTokens")) {
      return json({ input_tokens: 100, totalTokens: 100 });
    }
    if (path.endsWith("/messages")) return this.anthropic(body, response, json);
    if (path.endsWith("/responses")) return this.responses(body, response);
    if (path.endsWith("/chat/completions")) return this.chat(body, response, json);
    if (path.includes("enerateContent")) return this.google(path, body, response, json);
    return json({});
  }

  stream(response, events) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const { name, data } of events) {
      response.write(`${name ? `event: ${name}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
    }
    response.end();
  }

  anthropic(body, response, json) {
    const { call, text } = this.next(body);
    const id = `toolu_${String(this.requests.length).padStart(4, "0")}`;
    const content = call
      ? { type: "tool_use", id, name: call.tool, input: call.input }
      : { type: "text", text };
    const stop_reason = call ? "tool_use" : "end_turn";
    const message = {
      id: `msg_${this.requests.length}`, type: "message", role: "assistant", model: body.model ?? "recorded",
      stop_sequence: null, usage: { input_tokens: 10, output_tokens: 5 },
    };
    if (!body.stream) return json({ ...message, content: [content], stop_reason });
    const event = (name, data) => ({ name, data: { type: name, ...data } });
    const start = call ? { ...content, input: {} } : { type: "text", text: "" };
    const delta = call
      ? { type: "input_json_delta", partial_json: JSON.stringify(call.input) }
      : { type: "text_delta", text };
    this.stream(response, [
      event("message_start", { message: { ...message, content: [], stop_reason: null } }),
      event("content_block_start", { index: 0, content_block: start }),
      event("content_block_delta", { index: 0, delta }),
      event("content_block_stop", { index: 0 }),
      event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } }),
      event("message_stop", {}),
    ]);
  }

  responses(body, response) {
    const { call, text } = this.next(body);
    const n = this.requests.length;
    const item = call
      ? { type: "function_call", id: `fc${n}`, call_id: `c${n}`, name: call.tool, arguments: JSON.stringify(call.input) }
      : { type: "message", role: "assistant", id: `m${n}`, content: [{ type: "output_text", text }] };
    if (call?.namespace) item.namespace = call.namespace;
    const usage = {
      input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null, total_tokens: 2,
    };
    const event = (name, data) => ({ name, data: { type: name, ...data } });
    this.stream(response, [
      event("response.created", { response: { id: `r${n}` } }),
      event("response.output_item.done", { output_index: 0, item }),
      event("response.completed", { response: { id: `r${n}`, usage } }),
    ]);
  }

  chat(body, response, json) {
    const { call, text } = this.next(body);
    const n = this.requests.length;
    const calls = call
      ? [{ index: 0, id: `call_${n}`, type: "function", function: { name: call.tool, arguments: JSON.stringify(call.input) } }]
      : undefined;
    const message = { role: "assistant", content: call ? null : text, tool_calls: calls };
    const finish_reason = call ? "tool_calls" : "stop";
    const base = { id: `chat_${n}`, created: 0, model: body.model ?? "recorded" };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (!body.stream) {
      return json({ ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage });
    }
    const chunk = (delta, finish) => ({
      data: { ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] },
    });
    this.stream(response, [chunk(message, null), chunk({}, finish_reason), { data: "[DONE]" }]);
  }

  google(path, body, response, json) {
    const tools = body.tools ?? body.request?.tools;
    const { call, text } = this.next({ ...body, tools });
    const part = call ? { functionCall: { name: call.tool, args: call.input } } : { text };
    const answer = {
      candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    };
    if (path.includes("stream")) return this.stream(response, [{ data: answer }]);
    return json(answer);
  }
}
