# SPDX-License-Identifier: MIT
# A thin front: meson does the work. Variables to give: BUILD (build folder), PREFIX and DESTDIR
# (make install), SETUP_FLAGS (for meson setup), SECONDS (how long make fuzz runs), STEPS (of make check-long), MACHINE (make static).
BUILD ?= build
PREFIX ?= /usr/local
SETUP_FLAGS ?=
SECONDS ?= 60
STEPS ?=
MACHINE ?=
# Debian's meson first: a private Python on PATH may lack what another meson needs.
MESON ?= $(firstword $(wildcard /usr/bin/meson) meson)

.PHONY: all static demo quick build-tests check check-long check-machines attack bench fuzz install dist clean packages-build packages-static packages-check packages-bench packages-long packages-machines

all: $(BUILD)/build.ninja
	@$(MESON) compile -C $(BUILD)

$(BUILD)/build.ninja:
	@command -v $(MESON) >/dev/null || \
	    { echo "meson is missing. Type: scripts/install_packages.sh" >&2; exit 1; }
	$(MESON) setup $(SETUP_FLAGS) $(BUILD)

packages-build:
	@scripts/install_packages.sh build

packages-static:
	@scripts/install_packages.sh static

packages-check:
	@scripts/install_packages.sh check

packages-bench:
	@scripts/install_packages.sh bench

packages-long:
	@scripts/install_packages.sh long

packages-machines:
	@scripts/install_packages.sh machines

demo: packages-build
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@$(MESON) compile -C $(BUILD) tool/ntprof:executable self busy
	@scripts/demo.sh $(BUILD)

# ntprof as one file that needs nothing on the machine. MACHINE=arm64: for that machine.
static: packages-static
	@scripts/make_static.sh $(BUILD)-static$(addprefix -,$(MACHINE)) $(MACHINE)

# Before each commit: checks of the text, unit and golden tests.
quick:
	@scripts/quick.sh $(BUILD)

# Tests need cmocka, which `make demo` did not ask for: with the packages there, turn them on.
build-tests: packages-check
	@$(MAKE) --no-print-directory $(BUILD)/build.ninja
	@$(MESON) configure $(BUILD) -Dtests=enabled
	@$(MAKE) --no-print-directory all

check: build-tests
	@scripts/run_tests.sh $(BUILD)

# Long tests, sanitizers as every user, SECONDS of model and fuzzing; STEPS='long tests|TSan' are only some.
check-long: SECONDS = 600
check-long: packages-long build-tests
	@scripts/check_long.sh $(BUILD) $(SECONDS) '$(STEPS)'

# Kernels of Debian, arm64, many processors and a PMU, emulated: writes the table of docs/environments.md.
check-machines: packages-machines packages-static build-tests
	@scripts/check_machines.py $(BUILD) --write --tests 3600

# What others may do to the installed command, as root and as an ordinary user.
attack: build-tests
	@scripts/attack.sh $(BUILD)

bench: packages-bench
	@$(MAKE) --no-print-directory all
	@$(MESON) test -C $(BUILD) --no-rebuild --benchmark --verbose

fuzz: packages-check
	@scripts/fuzz.sh $(SECONDS)

install: all
	@$(MESON) configure $(BUILD) --prefix $(abspath $(PREFIX)) --libdir lib
	$(MESON) install -C $(BUILD)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi
	@if [ -z "$(DESTDIR)" ] && [ "$$(pkg-config --variable=prefix ntprof 2>/dev/null)" != "$(abspath $(PREFIX))" ]; then \
	    echo "To build and run programs with this library, type:"; \
	    echo "export PKG_CONFIG_PATH=$(abspath $(PREFIX))/lib/pkgconfig LD_LIBRARY_PATH=$(abspath $(PREFIX))/lib"; \
	fi

# ntprof-VERSION.tar.gz of what is committed, the one file for each machine, and SHA256SUMS.
dist: packages-static
	@scripts/make_dist.sh . $(BUILD)

clean:
	rm -rf $(BUILD)
