# Front door. `make` lists what there is; each target installs and builds what it needs first.
PRESET ?= dev
BUILD := build
JOBS := $(shell nproc)

.PHONY: help deps torch-env configure build test lint format demo bench clean
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

deps: ## Install missing Debian packages (no network when nothing is missing)
	@tools/dev/install_deps.sh

torch-env: deps ## Make .venv with PyTorch, which the comparison tests use
	@tools/dev/torch_env.sh

configure: deps
	@test -f $(BUILD)/build.ninja -a -f $(BUILD)/.preset-$(PRESET) || \
	  { cmake --preset $(PRESET) && rm -f $(BUILD)/.preset-* && touch $(BUILD)/.preset-$(PRESET); }

build: configure ## Build everything; the command is build/bin/tapeless
	@cmake --build $(BUILD)

test: build ## Run every test; ends with "N passed, N failed, N skipped"
	@python3 tools/dev/run_tests.py --build $(BUILD) --jobs $(JOBS)

lint: build ## Check format, includes, sizes, diagnostics and clang-tidy
	@status=0; \
	python3 tools/dev/check_tree.py || status=1; \
	python3 tools/dev/check_format.py || status=1; \
	python3 tools/dev/check_tidy.py --build $(BUILD) --jobs $(JOBS) || status=1; \
	exit $$status

format: deps ## Format all C++ files in place
	@python3 tools/dev/check_format.py --fix

demo: build ## Train a CNN on 60,000 images and write runs/demo/report.html
	@$(BUILD)/bin/tapeless train recipes/cnn-bn.toml --out runs/demo

bench: build ## Time training steps beside PyTorch eager and print the ratios
	@python3 bench/run.py --tapeless $(BUILD)/bin/tapeless

clean: ## Remove all build folders
	@rm -rf build build-*
