# Lamina: `make run` shows it, `make test` proves it, `make help` lists the rest.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# ---- What the user may override --------------------------------------------

ifeq ($(origin CXX),default)
CXX := g++
endif
CLANGXX ?= clang++-14
AR      ?= ar

# release, debug, asan, tsan, coverage or fuzz; each has a folder below build/.
CONFIG  ?= release
# 1: warnings are errors.
STRICT  ?= 0
# 0: gzip by zlib alone.
ISAL    ?= 1
# Folders below tests/ whose tests are built; all when empty.
SUITES  ?=
# 1: print whole commands.
V       ?= 0

level_debug    := -O0 -g
level_coverage := -O0
level_asan     := -O1 -g1
level_tsan     := -O1 -g1
level_fuzz     := -O1 -g1
# Lines and functions, no variables: those double a compilation at -O2.
CXXFLAGS ?= $(or $(level_$(CONFIG)),-O2 -g1)
CPPFLAGS ?=
LDFLAGS  ?=
PREFIX   ?= /usr/local
DESTDIR  ?=

SRC ?= /usr/bin
DST ?=
FUZZ_SECONDS   ?= 60
FUZZ_SEED      ?= 1
COVERAGE_FLOOR ?= 80

# ---- What the project needs whatever the user says -------------------------

build   := build/$(CONFIG)
version := $(strip $(file <VERSION))
quiet   := $(if $(filter 1,$(V)),,@)

# Asked once and only by a rule that needs the answer: `make deps` and a build
# without tests run on a machine where these packages are not installed.
once = $(eval $(1) := $(2))$($(1))
lib_cflags  = $(call once,lib_cflags,$(shell pkg-config --cflags $(packages)))
lib_libs    = $(call once,lib_libs,$(shell pkg-config --libs $(packages)))
test_cflags = $(call once,test_cflags,$(shell pkg-config --cflags gmock))
test_libs   = $(call once,test_libs,$(shell pkg-config --libs gmock))
main_libs   = $(call once,main_libs,$(shell pkg-config --libs gtest_main))
bench_libs  = $(call once,bench_libs,$(shell pkg-config --libs benchmark))

packages := mount libselinux libzstd libcrypto sqlite3 zlib
ifeq ($(ISAL),1)
packages += libisal
endif

# g++ 12 sees overlaps in the standard library's own string (its bug 105651).
warnings  = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast \
            -Wnon-virtual-dtor $(if $(findstring clang,$(CXX)),,-Wno-restrict) \
            $(if $(filter 1,$(STRICT)),-Werror)

flags_release  :=
flags_debug    := -D_GLIBCXX_ASSERTIONS
flags_asan     := -fsanitize=address,undefined -fno-sanitize-recover=all \
                  -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS
flags_tsan     := -fsanitize=thread
flags_coverage := -fprofile-instr-generate -fcoverage-mapping
flags_fuzz     := -fsanitize=fuzzer-no-link,address,undefined \
                  -fno-sanitize-recover=all -fno-omit-frame-pointer
ifeq ($(filter flags_$(CONFIG),$(.VARIABLES)),)
$(error CONFIG=$(CONFIG) is none of release debug asan tsan coverage fuzz)
endif
ifneq ($(filter coverage fuzz,$(CONFIG)),)
CXX := $(CLANGXX)
endif

lamina_cppflags = -I. -DLAMINA_ISAL=$(ISAL) $(lib_cflags)
lamina_cxxflags = -std=c++20 -pthread $(warnings) $(flags_$(CONFIG))
lamina_ldflags  = -pthread -Wl,--as-needed $(flags_$(CONFIG))
# libcrypto is loaded when it is needed: archive/crypto_library.h.
lamina_libs     = -lboost_filesystem $(filter-out -lcrypto,$(lib_libs))

compile = $(CXX) $(lamina_cppflags) $(CPPFLAGS) $(lamina_cxxflags) $(CXXFLAGS)
link    = $(CXX) $(lamina_ldflags) $(CXXFLAGS) $(LDFLAGS)

# ---- What is built ----------------------------------------------------------

library_dirs := base copy archive cache drivers daemon cli
mains        := $(wildcard cli/main.cc daemon/main.cc)
sources      := $(filter-out $(mains),$(sort $(wildcard $(library_dirs:=/*.cc))))
headers      := $(sort $(wildcard $(library_dirs:=/*.h) tests/support/*.h))
test_globs   := $(foreach d,tests tests/* tests/*/*,$(d)/*.cc)
all_tests    := $(filter-out tests/fuzz/% tests/tools/%,\
                  $(sort $(wildcard $(test_globs))))
test_sources := $(if $(SUITES),$(filter $(SUITES:%=tests/%/%) \
                  tests/support/%,$(all_tests)),$(all_tests))
support      := $(filter tests/support/%,$(test_sources))
tool_sources := $(sort $(wildcard tests/tools/*.cc))
fuzz_sources := $(sort $(wildcard tests/fuzz/*_fuzz.cc))
bench_sources := $(sort $(wildcard bench/*_bench.cc))

objects_of = $(patsubst %.cc,$(build)/%.o,$(1))
library    := $(build)/liblamina.a
programs   := $(patsubst cli/main.cc,$(build)/lamina,\
                $(patsubst daemon/main.cc,$(build)/laminad,$(mains)))
unit_tests := $(build)/lamina_tests
tools      := $(patsubst tests/%.cc,$(build)/%,$(tool_sources))
fuzzers    := $(patsubst tests/fuzz/%.cc,build/fuzz/%,$(fuzz_sources))
benchmarks := $(patsubst %.cc,$(build)/%,$(bench_sources))

.PHONY: all
all: $(programs) $(library) ## build the programs and the library

$(build)/lamina: $(build)/cli/main.o $(library)
$(build)/laminad: $(build)/daemon/main.o $(library)
$(unit_tests): $(call objects_of,$(test_sources)) $(library)
$(tools): $(build)/%: $(build)/tests/%.o $(build)/libsupport.a $(library)
$(benchmarks): $(build)/%: $(build)/%.o $(library)
$(fuzzers): build/fuzz/%: build/fuzz/tests/fuzz/%.o \
            build/fuzz/libsupport.a build/fuzz/liblamina.a

# Half of what `lamina --version` takes is the loader binding libstdc++'s
# symbols. Not where a sanitizer brings a runtime of its own.
ifneq ($(filter release debug,$(CONFIG)),)
$(build)/lamina: private extra_libs = -static-libstdc++ -static-libgcc
endif
$(unit_tests): private extra_libs = $(main_libs) $(test_libs)
$(benchmarks): private extra_libs = $(bench_libs)
$(fuzzers): private extra_libs = -fsanitize=fuzzer $(test_libs)

$(programs) $(unit_tests) $(tools) $(benchmarks) $(fuzzers): $(build)/link
	$(if $(quiet),@echo "  LINK  $@")
	@mkdir -p $(@D)
	$(quiet)$(link) -o $@ $(filter %.o %.a,$^) $(lamina_libs) $(extra_libs)

$(library): $(call objects_of,$(sources))
$(build)/libsupport.a: $(call objects_of,$(support))
$(library) $(build)/libsupport.a: $(build)/link
	$(if $(quiet),@echo "  AR    $@")
	$(quiet)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

$(build)/%.o: %.cc $(build)/command
	$(if $(quiet),@echo "  CXX   $<")
	@mkdir -p $(@D)
	$(quiet)$(compile) $(extra_cppflags) -MMD -MP -c -o $@ $<

$(build)/cli/version.o: private extra_cppflags = -DLAMINA_VERSION='"$(version)"'
$(build)/cli/version.o: VERSION

# Tests are two thirds of the sources and wait for system calls, not for
# themselves: unoptimised they compile in half the time.
test_compile = $(compile) $(test_cflags) -U_FORTIFY_SOURCE -O0
precompiled := $(build)/tests/precompiled.h
$(precompiled).gch: tests/support/precompiled.h $(build)/command
	$(if $(quiet),@echo "  PCH   $<")
	@mkdir -p $(@D)
	$(quiet)$(test_compile) -x c++-header -o $@ $<
$(build)/tests/%.o: tests/%.cc $(precompiled).gch $(build)/command
	$(if $(quiet),@echo "  CXX   $<")
	@mkdir -p $(@D)
	$(quiet)$(test_compile) -include $(precompiled) -MMD -MP -c -o $@ $<

# Rewritten only when what they hold differs, so a changed flag rebuilds, a
# deleted source leaves the library, and an unchanged tree builds nothing.
define remember
@mkdir -p $(@D)
@echo '$(subst ','\'',$(1))' | cmp -s - $@ || echo '$(subst ','\'',$(1))' >$@
endef
$(build)/command: FORCE
	$(call remember,$(compile))
$(build)/link: FORCE
	$(call remember,$(link) $(lamina_libs) $(sources) $(test_sources))
.PHONY: FORCE
FORCE:

-include $(wildcard $(addsuffix *.d,$(build)/*/ $(build)/*/*/ $(build)/*/*/*/))

# ---- Run and test -----------------------------------------------------------

submake   = $(MAKE) --no-print-directory
parallel  = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: deps run test built unit integration bench run-bench
deps: ## install what is missing of everything a contributor uses (apt)
	@scripts/deps build test bench tidy

run: ## install, build, copy SRC (to DST if given) and check the copy
	@scripts/deps build
	+@$(submake) $(parallel) CONFIG=release all
	@scripts/demo build/release/lamina '$(SRC)' '$(DST)'

test: ## install, build, run the unit and the integration tests
	@scripts/deps build test
	+@$(submake) $(parallel) built
	+@$(submake) unit
	+@$(submake) integration

# All that tests need. The two kinds run one after the other, since they
# compete for the disk.
built: $(unit_tests) $(tools) $(programs)

unit: built ## unit tests of CONFIG
	LAMINA_BUILD=$(build) $(unit_tests) $(GTEST_FLAGS)

integration: built ## the program on real file systems; SCRIPTS='10 12' some
	LAMINA_BUILD=$(build) integration/run $(SCRIPTS)

bench: ## measure beside what a user has today; BASE=REV as one more
	@scripts/deps build bench
	+@$(submake) $(parallel) CONFIG=release $(benchmarks:$(build)/%=build/release/%)
	+@$(submake) CONFIG=release run-bench
run-bench: $(programs) $(benchmarks)
	LAMINA_BUILD=$(build) BASE='$(BASE)' bench/run

# ---- Checks -----------------------------------------------------------------

.PHONY: asan tsan fuzz run-fuzzers coverage check check-all check-old-kernel \
        check-umask check-layers check-headers check-format check-spelling \
        check-scripts check-sins format tidy man-check
asan tsan: ## unit tests under sanitizers
	+@$(submake) $(parallel) CONFIG=$@ built
	+@$(submake) CONFIG=$@ unit

fuzz: ## each fuzzer for FUZZ_SECONDS
	+@$(submake) $(parallel) CONFIG=fuzz $(fuzzers)
	+@$(submake) CONFIG=fuzz run-fuzzers
run-fuzzers: $(fuzzers)
	scripts/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED) $(fuzzers)

coverage: ## a line per file; fails below COVERAGE_FLOOR
	+@$(submake) $(parallel) CONFIG=coverage built
	scripts/coverage $(COVERAGE_FLOOR)

check: check-layers check-headers check-format check-spelling check-scripts \
       man-check ## cheap checks of the text

check-layers: ## a folder includes itself and those above it
	scripts/check_layers

with_source = $(foreach h,$(headers),$(if $(wildcard $(h:.h=.cc)),$(h)))
check-headers: $(patsubst %,$(build)/alone/%.ok,$(filter-out $(with_source),$(headers)))
check-headers: ## each header compiles alone
	@scripts/check_first_include $(with_source)
$(build)/alone/%.ok: % $(build)/command
	@mkdir -p $(@D)
	$(quiet)echo '#include "$<"' | $(compile) $(test_cflags) -x c++ \
	    -MMD -MP -MT $@ -MF $(@:.ok=.d) -fsyntax-only -
	@touch $@

check-format: ## clang-format would change nothing
	@clang-format-14 --dry-run --Werror $(formatted)

format: ## let clang-format change it
	clang-format-14 -i $(formatted)

formatted = $(shell git ls-files -co --exclude-standard '*.h' '*.cc')

check-spelling:
	codespell -D - -D .ci/british $$(git ls-files -co --exclude-standard)

check-scripts:
	shellcheck $$(git grep -lIE --untracked '^#! ?/bin/(ba)?sh' -- ":!*.cc" ":!*.md")

tidy: ## clang-tidy over everything that changed since it last passed
	scripts/tidy $(TIDY_FLAGS)

check-old-kernel: built ## new system calls refused
	scripts/check_old_kernel $(build) $(SCRIPTS)

check-umask: built ## the tests under umask 077
	scripts/check_umask $(build) $(SCRIPTS)

check-sins: ## each check finds the fault planted for it
	scripts/check_sins

man-check: ## manuals without warnings
	scripts/check_man $(manuals)

check-all: export LAMINA_FULL = 1
check-all: ## everything, long campaigns whole (LAMINA_FULL=1)
	@scripts/deps build test bench tidy
	$(MAKE) STRICT=1 test check
	$(MAKE) STRICT=1 CONFIG=debug CXX=$(CLANGXX) all unit
	$(MAKE) asan
	$(MAKE) tsan
	$(MAKE) check-old-kernel
	$(MAKE) check-umask
	$(MAKE) FUZZ_SECONDS=600 fuzz
	$(MAKE) tidy check-sins coverage

# ---- Install and clean ------------------------------------------------------

manuals := $(sort $(wildcard docs/man/*.[1-8]))
public  := $(filter-out tests/%,$(headers))

.PHONY: install install-dev clean dist help
install: all ## programs, manuals and completion below DESTDIR and PREFIX
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 $(programs) '$(DESTDIR)$(PREFIX)/bin'
	for m in $(manuals); do install -m 644 -D -t \
	    "$(DESTDIR)$(PREFIX)/share/man/man$${m##*.}" "$$m" || exit 1; done
	for c in $(wildcard cli/completion/*); do install -m 644 -D -t \
	    "$(DESTDIR)$(PREFIX)/share/bash-completion/completions" "$$c" || exit 1; done

install-dev: $(library) ## the library and its headers, for embedding
	install -m 644 -D -t '$(DESTDIR)$(PREFIX)/lib' $(library)
	for h in $(public); do install -m 644 -D "$$h" \
	    "$(DESTDIR)$(PREFIX)/include/lamina/$$h" || exit 1; done

clean: ## remove what was built
	rm -rf build

dist: ## a source archive of HEAD
	@mkdir -p build
	git archive --prefix=lamina-$(version)/ -o build/lamina-$(version).tar.gz HEAD

help: ## this list
	@sed -n 's/^\([a-z-][a-z -]*\):[^#]*## /\1: /p' Makefile | \
	    awk -F': ' '{ printf "  %-20s %s\n", $$1, $$2 }'
