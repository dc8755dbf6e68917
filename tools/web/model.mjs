// A service that speaks the protocol of chat completions and answers what a test says: a text, or the use of a tool. It is
// slow enough, where a test asks for it, that a page can be looked at meanwhile.

import { createServer } from 'node:http';

/** @typedef {{text?: string, tool?: string, args?: any, hold?: Promise<void>}} Reply */

/**
 * @param {(request: any) => Reply} answer
 * @returns {Promise<{url: string, asked: any[], close: () => Promise<void>}>}
 */
export async function startModel(answer) {
  /** @type {any[]} */
  const asked = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => { body += piece; });
    request.on('end', async () => {
      const question = JSON.parse(body || '{}');
      asked.push(question);
      const reply = answer(question);
      const put = (/** @type {any} */ value) => response.write(`data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`);
      const chunk = (/** @type {any} */ delta, /** @type {string | null} */ end) => put({ model: 'tiny', choices: [{ index: 0, delta, finish_reason: end }] });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (reply.tool) chunk({ tool_calls: [{ index: 0, id: `c${asked.length}`, type: 'function', function: { name: reply.tool, arguments: JSON.stringify(reply.args ?? {}) } }] }, 'tool_calls');
      else {
        const [first, ...rest] = (reply.text ?? '').split(' ');
        chunk({ content: first ?? '' }, null);
        if (reply.hold) await reply.hold;
        chunk({ content: rest.length > 0 ? ` ${rest.join(' ')}` : '' }, 'stop');
      }
      put({ model: 'tiny', choices: [], usage: { prompt_tokens: 300, completion_tokens: 20, total_tokens: 320 } });
      put('[DONE]');
      response.end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/v1`, asked, close: () => new Promise((resolve) => { server.closeAllConnections(); server.close(() => resolve()); }) };
}

/** The settings that make it the only provider. @param {string} url */
export function settingsOf(url) {
  return `[providers]\ndefault = { provider = "near", model = "tiny" }\n[providers.endpoints.near]\nkind = "openai"\nbase_url = "${url}"\n[providers.prices.tiny]\ninput = 1.0\noutput = 2.0\n`;
}
