// Adds the token of a home to every request, for programs that cannot send a header of their own.
//
//   node as_owner.mjs URL_OF_CORTEX FILE_OF_TOKEN
//
// Prints the address it listens on, then hands requests on until it is ended.

import fs from "node:fs";
import http from "node:http";

const [url, file] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const token = fs.readFileSync(file, "utf8").trim();

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const on = http.request({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  on.on("error", () => response.destroy());
  request.pipe(on);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
