# pgdisque: a queue server for Disque clients that keeps its jobs in Postgres.
# `make help` lists the targets.

# The version of the program and of the packages. CHANGELOG.md has its date.
VERSION = 1.0.0-rc1

CC = cc
CFLAGS = -O2 -g
LDFLAGS =
WERROR = -Werror
PREFIX = /usr/local
SYSCONFDIR = /etc
STATEDIR = /var/lib/pgdisque
UNITDIR = $(PREFIX)/lib/systemd/system
SYSUSERSDIR = $(PREFIX)/lib/sysusers.d

# SANITIZE=address,undefined builds everything with these sanitizers, apart from the ordinary build.
SANITIZE =
# COVERAGE=1 builds everything with gcov's counters. The programs write them below build/coverage at their exit.
COVERAGE =
comma := ,
BUILD := build/$(if $(COVERAGE),coverage,$(or $(subst $(comma),-,$(SANITIZE)),plain))
BIN := $(if $(filter build/plain,$(BUILD)),,$(BUILD)/)pgdisque

WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(WERROR)
ifneq ($(COVERAGE),)
HARDEN = -U_FORTIFY_SOURCE -O0 --coverage -fprofile-update=atomic
else ifeq ($(SANITIZE),)
# Hardening flags. KNOWN keeps those that the compiler and the C library support.
HARDENING = -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fcf-protection \
            -ftrivial-auto-var-init=zero
knows_flag = printf '\043include <stdlib.h>\n' | $(CC) -Werror -O2 -U_FORTIFY_SOURCE $(1) -x c -c -o /dev/null -
KNOWN = $(call once,KNOWN,$(shell for flag in $(HARDENING); do $(call knows_flag,$$flag) 2>/dev/null && echo $$flag; done))
HARDEN = -U_FORTIFY_SOURCE $(or $(KNOWN),-D_FORTIFY_SOURCE=2 -fstack-protector-strong)
else
HARDEN = -U_FORTIFY_SOURCE -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
export ASAN_OPTIONS ?= detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS ?= print_stacktrace=1
export PGDISQUE_TEST_SLOW = 1
endif

# The working directory for recipes, quoted, because the path may contain any characters.
HERE = "$$PWD"

# Runs a command at its first use and keeps the result: `make run` must work before pkg-config is installed.
once = $(eval $(1) := $(2))$($(1))
PKG_CFLAGS = $(call once,PKG_CFLAGS,$(shell pkg-config --cflags libpq libevent_extra libevent_core jansson libsodium hiredis libssl libcrypto))
PKG_LIBS = $(call once,PKG_LIBS,$(shell pkg-config --libs libpq libevent_extra libevent_core jansson libsodium hiredis libssl libcrypto))

STD = -std=gnu11 -D_GNU_SOURCE
INCLUDES = -Isrc -Ibuild $(PKG_CFLAGS)
COMPILE = $(CC) $(STD) $(CFLAGS) $(WARNINGS) $(HARDEN) -fPIE $(OF_TESTS) $(INCLUDES)
LINK = $(CC) $(CFLAGS) $(HARDEN) $(LDFLAGS) -pie -Wl,-z,relro,-z,now

SQL := $(sort $(wildcard sql/*.sql sql/*/*.sql)) \
       $(wildcard conf/embedded-postgresql.conf)
SRC := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
# An archive of all objects except main. A test that defines its own db.c does not link the archive's db.o.
LIB := $(BUILD)/libpgdisque.a
LIB_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out src/main.c,$(SRC))) $(BUILD)/build/sql_gen.o $(BUILD)/build/page_gen.o

# The library of the page's charts, at its places in Debian's packages. Without it the page shows figures only.
CHART_JS = $(firstword $(wildcard /usr/share/javascript/chart.js/chart.min.js /usr/share/javascript/chart.js/chart.umd.js \
             /usr/share/nodejs/chart.js/dist/chart.min.js /usr/share/nodejs/chart.js/dist/chart.umd.js))

object = $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard $(1))))
program = $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard $(1))))
SUPPORT_OBJ := $(call object,tests/support/*.c)
UNIT_TESTS := $(call program,tests/unit/*/test_*.c tests/unit/*/*/test_*.c)
SERVER_TESTS := $(call program,tests/sql/test_*.c tests/integration/test_*.c)
CONFORMANCE_OBJ := $(call object,tests/conformance/*.c)
CONFORMANCE := $(if $(CONFORMANCE_OBJ),$(BUILD)/tests/conformance/run)
FAULT_OBJ := $(call object,tests/fault/*.c)
FAULT := $(BUILD)/tests/fault/clients $(BUILD)/tests/fault/slow_sync.so
# A server without src/cluster/. The link fails if base/ to commands/ call a function of the cluster.
ALONE := $(BUILD)/tests/alone/pgdisque
FUZZERS := $(call program,tests/fuzz/fuzz_*.c)
# The same targets without libFuzzer, for tests/run.
FUZZ_TESTS := $(patsubst $(BUILD)/tests/fuzz/%,$(BUILD)/tests/fuzz/run/%,$(FUZZERS))
MUTANTS := $(call program,tests/fault/mutants/*.c)
BENCH_OBJ := $(filter-out %/floor.o,$(call object,bench/*.c))
BENCH := $(if $(BENCH_OBJ),$(if $(filter build/plain,$(BUILD)),,$(BUILD)/)bench/load)
FLOOR := $(BUILD)/bench/floor
C_FILES = $(wildcard src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch] bench/*.[ch])

Q = $(if $(V),,@)
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

.DEFAULT_GOAL := all
.PHONY: all programs run test test-systems test-clone test-upgrade test-packages test-container citus coverage fuzz fault fault-long fault-mutants check bench bench-loop bench-attack soak format lint map site schema install uninstall dist deb clean deps help FORCE have-deps
.DELETE_ON_ERROR:
.SECONDARY:

##@ Build and run

all: $(BIN) ## build ./pgdisque

run: ## install what is missing, build, and serve; RUN_ARGS='--port 7712' for options
	@src/deps.sh run
	@+$(SUBMAKE) all
	@exec ./$(BIN) $(RUN_ARGS)

# DESTDIR is quoted, because it may contain blanks. Paths in installed files are those of the target system.
FILL = sed -e 's,@BINDIR@,$(PREFIX)/bin,' -e 's,@SYSCONFDIR@,$(SYSCONFDIR),' -e 's,@STATEDIR@,$(STATEDIR),'
# The unit for several servers: an instance has its own configuration, directory and runtime directory.
INSTANCE = sed -e 's,pgdisque/pgdisque\.conf,pgdisque/%i.conf,' -e 's,^\(State\|Runtime\)Directory=.*,&-%i,' \
	-e 's,^StateDirectoryMode=,WorkingDirectory=$(STATEDIR)-%i\n&,' -e 's,^Description=[^ ,]*,& %i,'
DOCDIR = $(PREFIX)/share/doc/pgdisque
MANDIR = $(PREFIX)/share/man
BASH_COMPLETION = $(PREFIX)/share/bash-completion/completions/pgdisque
ZSH_COMPLETION = $(PREFIX)/share/zsh/site-functions/_pgdisque
FISH_COMPLETION = $(PREFIX)/share/fish/vendor_completions.d/pgdisque.fish
TO = "$(DESTDIR)"

install: $(BIN) ## install below PREFIX (and DESTDIR): server, configuration, user, systemd unit
	install -D -m 755 pgdisque $(TO)$(PREFIX)/bin/pgdisque
	install -d $(TO)$(SYSCONFDIR)/pgdisque $(TO)$(UNITDIR) $(TO)$(SYSUSERSDIR)
	[ -e $(TO)$(SYSCONFDIR)/pgdisque/pgdisque.conf ] || \
		sed -e 's,^dir .*,dir $(STATEDIR),' conf/pgdisque.conf > $(TO)$(SYSCONFDIR)/pgdisque/pgdisque.conf
	$(FILL) conf/pgdisque.service > $(TO)$(UNITDIR)/pgdisque.service
	$(FILL) conf/pgdisque.service | $(INSTANCE) > $(TO)$(UNITDIR)/pgdisque@.service
	$(FILL) conf/pgdisque.sysusers > $(TO)$(SYSUSERSDIR)/pgdisque.conf
	install -D -m 644 -t $(TO)$(PREFIX)/share/pgdisque sql/by-hand/*.sql
	install -d $(TO)$(MANDIR)/man1 $(TO)$(MANDIR)/man5 $(TO)$(dir $(BASH_COMPLETION)) $(TO)$(dir $(ZSH_COMPLETION)) \
		$(TO)$(dir $(FISH_COMPLETION))
	./$(BIN) man 1 > $(TO)$(MANDIR)/man1/pgdisque.1
	./$(BIN) man 5 > $(TO)$(MANDIR)/man5/pgdisque.conf.5
	./$(BIN) completion bash > $(TO)$(BASH_COMPLETION)
	./$(BIN) completion zsh > $(TO)$(ZSH_COMPLETION)
	./$(BIN) completion fish > $(TO)$(FISH_COMPLETION)
	for file in README.md LICENSE doc/*.md doc/protocol/*.md doc/decisions/*.md doc/examples/* doc/images/* conf/*.* conf/*/*.* sql/README.md tests/README.md bench/*.md \
		bench/results/published/*.md bench/results/published/*.svg; do \
		install -D -m 644 "$$file" $(TO)$(DOCDIR)/"$$file"; \
	done
	[ -n $(TO) ] || ! command -v systemd-sysusers >/dev/null || \
		systemd-sysusers $(SYSUSERSDIR)/pgdisque.conf

uninstall: ## remove the installed files, but not the configuration, the data and the user
	rm -f $(TO)$(PREFIX)/bin/pgdisque $(TO)$(UNITDIR)/pgdisque.service $(TO)$(UNITDIR)/pgdisque@.service \
		$(TO)$(SYSUSERSDIR)/pgdisque.conf
	rm -f $(TO)$(MANDIR)/man1/pgdisque.1 $(TO)$(MANDIR)/man5/pgdisque.conf.5 $(TO)$(BASH_COMPLETION) \
		$(TO)$(ZSH_COMPLETION) $(TO)$(FISH_COMPLETION)
	rm -rf $(TO)$(PREFIX)/share/pgdisque $(TO)$(DOCDIR)
	@echo "Left: $(SYSCONFDIR)/pgdisque, $(STATEDIR), and the user pgdisque"

clean: ## remove all build products; ./data stays
	rm -rf build pgdisque bench/load

deps: ## install the dependencies of all targets below
	@src/deps.sh shells clients page fault check bench

##@ Packages

RELEASE = pgdisque-$(VERSION)
# The files of a release: those that git knows, or without git all files except build products.
RELEASE_FILES = $(if $(GIT),$(GIT) ls-files -z --cached --deduplicate, \
	find . -type f ! -path './build/*' ! -path './data/*' ! -path '*/node_modules/*' ! -path '*/__pycache__/*' \
	! -path './pgdisque' ! -path './bench/load' -printf '%P\0')
RELEASE_DATE = $(shell sed -n 's/^\#\# \[$(VERSION)\] - //p' CHANGELOG.md)

# Owners, times, modes and the order of files are fixed, so that two runs write the same bytes.
dist: ## write the release to build/pgdisque-VERSION.tar.gz; two runs write the same bytes
	@[ -n "$(RELEASE_DATE)" ] || { echo "CHANGELOG.md has no date for $(VERSION)" >&2; exit 1; }
	@mkdir -p build
	@$(RELEASE_FILES) | LC_ALL=C sort -z | tar -c --null --no-recursion -T - --format=gnu --owner=0 --group=0 \
		--numeric-owner --mode=u+rw,go=rX,a-s --mtime='$(RELEASE_DATE) 00:00Z' --transform='s,^,$(RELEASE)/,' | \
		gzip -9n > build/$(RELEASE).tar.gz
	@sha256sum build/$(RELEASE).tar.gz

# Debian's version sorts 1.0.0~rc1 before 1.0.0.
DEB_VERSION = $(subst -,~,$(VERSION))-1
DEB_TREE = build/deb/$(RELEASE)

deb: dist ## build the Debian package in build/deb
	@src/deps.sh deb
	@rm -rf build/deb && mkdir -p build/deb && tar -xzf build/$(RELEASE).tar.gz -m -C build/deb
	@cp -r conf/debian $(DEB_TREE)/debian
	@printf 'pgdisque (%s) unstable; urgency=medium\n\n  * Version %s; CHANGELOG.md lists the changes.\n\n -- %s  %s\n' \
		'$(DEB_VERSION)' '$(VERSION)' "$$(sed -n 's/^Maintainer: //p' conf/debian/control)" \
		"$$(date -u -R -d '$(RELEASE_DATE)')" > $(DEB_TREE)/debian/changelog
	@cd $(DEB_TREE) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -b -us -uc -j$$(nproc) > ../build.log 2>&1 || \
		{ tail -n 20 ../build.log; exit 1; }
	@ls build/deb/*.deb

##@ Test

test: ## run all tests; SANITIZE=address,undefined for the sanitizers, CITUS=1 for Citus, TEST_ARGS for tests/run
	@src/deps.sh test
	@+$(SUBMAKE) programs
	@BUILD=$(HERE)/$(BUILD) PGDISQUE=$(HERE)/$(BIN) BENCH=$(HERE)/$(BENCH) SANITIZE=$(SANITIZE) \
		$(if $(CITUS),PGDISQUE_TEST_CITUS=1 )tests/run $(TEST_ARGS)

test-systems: ## `make run`, `make test`, `make install` on a bare Debian 13, for an hour; SYSTEMS=sid for another
	@src/deps.sh systems
	@tests/systems $(SYSTEMS)

test-clone: ## build and start a fresh clone as README.md says, and play the sessions of that page
	@src/deps.sh run
	@tests/docs/clone

test-packages: deb ## test the Debian package under systemd in a container, and the release; PACKAGES_ARGS
	@src/deps.sh packages
	@tests/packages/run $(PACKAGES_ARGS)

test-container: ## build the image of conf/docker, and run it with podman; CONTAINER_ARGS
	@src/deps.sh container
	@tests/packages/container $(CONTAINER_ARGS)

test-upgrade: ## replace servers of an earlier version by this version, under load; OLDER=commit
	@src/deps.sh fault
	@+$(SUBMAKE) $(BIN) $(FAULT)
	@older=$$(tests/older $(OLDER)) && BUILD=$(HERE)/$(BUILD) PGDISQUE=$(HERE)/$(BIN) PGDISQUE_OLDER="$$older" \
		tests/fault/run upgrade upgrade-two

fault: ## cause faults under load, and check the replies of the clients; CITUS=1 for Citus, FAULT_ARGS for tests/fault/run
	@src/deps.sh fault
	@+$(SUBMAKE) $(BIN) $(FAULT)
	@BUILD=$(HERE)/$(BUILD) PGDISQUE=$(HERE)/$(BIN) tests/fault/run $(if $(CITUS),--citus) $(FAULT_ARGS)

fault-mutants: ## test `make fault` itself: it must detect servers with deliberate errors
	@src/deps.sh fault
	@+$(SUBMAKE) $(FAULT) $(MUTANTS)
	@BUILD=$(HERE)/$(BUILD) tests/fault/run --mutants $(FAULT_ARGS)

fault-long: ## `make fault` with every kind of fault, for three quarters of an hour
	@+$(MAKE) --no-print-directory fault FAULT_ARGS='--long $(FAULT_ARGS)'

check: ## run all checks that need no server, in half a minute
	@src/deps.sh check
	@+$(SUBMAKE) all
	@COMPILE='$(COMPILE)' PGDISQUE=$(HERE)/$(BIN) tests/check/run

citus: ## build Citus from CITUS_SOURCE if Postgres does not have it, and run three nodes for experiments
	@src/deps.sh fault
	@+$(SUBMAKE) $(BIN)
	@tests/citus $(CITUS_SOURCE)

coverage: ## run the tests with gcov's counters, and print the share of the lines that they execute; SUITES
	@src/deps.sh test
	@+$(SUBMAKE) COVERAGE=1 programs
	@tests/coverage build/coverage reset
	@for suite in $(or $(SUITES),unit fuzz sql integration conformance); do \
		BUILD=$(HERE)/build/coverage PGDISQUE=$(HERE)/build/coverage/pgdisque tests/run $$suite || exit; done
	@tests/coverage build/coverage

FUZZ_SECONDS = 60
fuzz: ## feed random bytes to the parsers for FUZZ_SECONDS each, with clang's libFuzzer
	@src/deps.sh fuzz
	@+$(SUBMAKE) CC=clang SANITIZE=address,undefined,fuzzer-no-link fuzzers
	@for fuzzer in $(FUZZERS:$(BUILD)/%=build/address-undefined-fuzzer-no-link/%); do \
		echo "== $$fuzzer"; mkdir -p "$$fuzzer.corpus"; \
		split -l 1 "tests/fuzz/seeds/$${fuzzer##*/}" "$$fuzzer.corpus/seed."; \
		"$$fuzzer" -max_len=70000 -max_total_time=$(FUZZ_SECONDS) "$$fuzzer.corpus" || exit; \
	done

lint: build/sql_gen.h build/version.h ## search for likely errors with cppcheck
	@tests/check/lint

bench: ## compare the speed with other queues; FULL=1 for an hour of it, BIG=1 for 10M jobs, BENCH_ARGS
	@src/deps.sh bench
	@+$(SUBMAKE) all $(BENCH) $(FLOOR)
	@PGDISQUE=$(HERE)/$(BIN) BUILD=$(HERE)/$(BUILD) bench/run $(if $(FULL),--full) $(if $(BIG),--big) \
		$(BENCH_ARGS)

bench-loop: ## measure PING while another client keeps the server busy; LOOP_ARGS for bench/loop
	@src/deps.sh bench
	@+$(SUBMAKE) all
	@PGDISQUE="$(CURDIR)/$(BIN)" bench/loop $(LOOP_ARGS)

bench-attack: ## measure legitimate clients while others attack the server; ATTACK_ARGS for bench/attack
	@src/deps.sh bench
	@+$(SUBMAKE) all
	@PGDISQUE="$(CURDIR)/$(BIN)" bench/attack $(ATTACK_ARGS)

MINUTES = 60
soak: ## an hour of load during an open transaction; MINUTES=5 for a short one, SOAK_ARGS for bench/soak
	@src/deps.sh bench
	@+$(SUBMAKE) all $(BENCH)
	@PGDISQUE=$(HERE)/$(BIN) bench/soak --minutes $(MINUTES) $(SOAK_ARGS)

##@ Development

format: ## format all C files by .clang-format
	clang-format -i $(C_FILES)

schema: ## write sql/schema.sql again, after a change of the migrations
	@tests/check/schema --update

site: ## make a site with search of the documents in build/site
	@src/deps.sh site
	@doc/site/build

map: ## list the source files by folder, each with its job
	@tests/check/folders --map

help: ## print this list
	@awk 'BEGIN { FS = ":.*## " } \
	     /^##@/ { printf "\n%s\n", substr($$0, 5) } \
	     /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

# Programs

programs: $(BIN) $(ALONE) $(UNIT_TESTS) $(FUZZ_TESTS) $(SERVER_TESTS) $(CONFORMANCE) $(BENCH)

fuzzers: $(FUZZERS)

have-deps:
	@src/deps.sh --name-only build

# $(call remember,text): writes text to the target if its content differs.
remember = @mkdir -p $(@D); printf '%b\n' '$(1)' | cmp -s - $@ || printf '%b\n' '$(1)' > $@

$(BUILD)/flags: FORCE | have-deps
	$(call remember,$(COMPILE) $(LINK))

$(LIB).list: FORCE
	$(call remember,$(LIB_OBJ))

# The commit, and whether the files differ from it; zeros without git.
GIT = $(if $(wildcard .git),git -c safe.directory=$(HERE))
GIT_SHA1 = $(or $(if $(GIT),$(shell $(GIT) rev-parse --short=8 HEAD 2>/dev/null)),00000000)
GIT_DIRTY = $(if $(if $(GIT),$(shell $(GIT) status --porcelain -uno 2>/dev/null)),1,0)

build/version.h: FORCE
	$(call remember,/* made by Makefile */\n#define PGDISQUE_VERSION "$(VERSION)"\n#define \
	PGDISQUE_GIT_SHA1 "$(GIT_SHA1)"\n#define PGDISQUE_GIT_DIRTY $(GIT_DIRTY))

# The directories are prerequisites, because their times change when a file is added or removed.
build/sql_gen.stamp: src/pg/sql_gen.sh src/pg/sql_parts.awk src/pg/sql_columns.awk src/pg/sql_single.awk $(SQL) $(wildcard sql sql/* conf)
	$(Q)src/pg/sql_gen.sh build
	@touch $@

build/sql_gen.h build/sql_gen.c: build/sql_gen.stamp ;

build/page_gen.c: src/http/page_gen.sh $(wildcard src/page src/page/*) $(CHART_JS) | have-deps
	$(Q)src/http/page_gen.sh build $(CHART_JS)

$(BUILD)/build/page_gen.o: build/page_gen.c

$(BUILD)/%.o: %.c $(BUILD)/flags | build/sql_gen.h build/version.h
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(COMPILE) -MMD -MP -c -o $@ $<

# The headers of tests are searched before those of src/. Tests wait for servers, so the compiler need not optimize them.
$(BUILD)/tests/%.o: private OF_TESTS = -O0 -U_FORTIFY_SOURCE -Itests/support -Itests/unit

$(LIB): $(LIB_OBJ) $(LIB).list
	@rm -f $@
	$(Q)ar rcs $@ $(LIB_OBJ)

# $(call link,libraries)
define link
$(if $(Q),@echo "  LINK  $@")
@mkdir -p $(@D)
$(Q)$(LINK) -o $@ $(filter %.o %.a,$^) $(1) $(PKG_LIBS) -lm
endef

$(BIN): $(BUILD)/src/main.o $(LIB)
	$(call link)

$(ALONE): $(BUILD)/src/main.o $(filter-out $(BUILD)/src/cluster/%,$(LIB_OBJ)) $(BUILD)/tests/alone/no_cluster.o
	$(call link)

# The linker's --wrap options for functions that a program replaces. Its first line names them.
wraps = $(patsubst %,-Wl$(comma)--wrap=%,$(shell sed -n '1s/.*wraps: \(.*\) \*\//\1/p' $(1).c))

$(UNIT_TESTS): $(BUILD)/%: $(BUILD)/%.o $(LIB)
	$(call link,-lcmocka $(call wraps,$*))

$(SERVER_TESTS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJ) $(LIB)
	$(call link,-lcmocka)

$(CONFORMANCE): $(CONFORMANCE_OBJ) $(SUPPORT_OBJ) $(LIB)
	$(call link,-lcmocka)

$(BUILD)/tests/fault/clients: $(FAULT_OBJ) $(LIB)
	$(call link)

$(FUZZERS): $(BUILD)/%: $(BUILD)/%.o $(LIB)
	$(call link,-fsanitize=fuzzer -lcmocka)

$(FUZZ_TESTS): $(BUILD)/tests/fuzz/run/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/driver.o $(LIB)
	$(call link,-lcmocka)

$(MUTANTS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/src/main.o $(LIB)
	$(call link,$(call wraps,$*))

$(BUILD)/tests/fault/slow_sync.so: tests/fault/preload/slow_sync.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CFLAGS) $(WARNINGS) -fPIC -shared -o $@ $< -ldl

$(BENCH): $(BENCH_OBJ) $(LIB)
	$(call link)

$(FLOOR): $(BUILD)/bench/floor.o $(LIB)
	$(call link)

-include $(shell [ ! -d $(BUILD) ] || find $(BUILD) -name '*.d')
