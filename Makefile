# gemmproof: `make help` lists the targets and the knobs.

BUILDDIR ?= build
DEBUG ?= 0
VERBOSE ?= 0
SANITIZE ?= 0
WERROR ?= 0
PREFIX ?= /usr/local
DESTDIR ?=
SUITE ?=
BACKEND ?= auto
SEEDS ?= 1000
SMOKE_SEEDS ?= 20
CUDA_HOME ?= $(firstword $(wildcard /usr/local/cuda /opt/cuda) /usr/local/cuda)
NVCC ?= $(or $(wildcard $(CUDA_HOME)/bin/nvcc),$(shell command -v nvcc))
CUDA_ARCH ?= all-major
# CUDA is built where the toolkit is: nvcc, and the header of cuBLAS.
CUDA_MISSING := $(if $(NVCC),,nvcc) \
	$(if $(wildcard $(CUDA_HOME)/include/cublas_v2.h),,cublas_v2.h)
CUDA ?= $(if $(strip $(CUDA_MISSING)),0,1)
ifeq ($(CUDA),1)
ifneq ($(strip $(CUDA_MISSING)),)
$(error CUDA=1, but under CUDA_HOME=$(CUDA_HOME) there is no \
	$(strip $(CUDA_MISSING)): set CUDA_HOME to the CUDA Toolkit, or CUDA=0)
endif
endif
define zero_or_one
ifneq ($$($(1)),0)
ifneq ($$($(1)),1)
$$(error $(1)=$$($(1)): the knob takes 0 or 1)
endif
endif
endef
$(foreach knob,CUDA DEBUG VERBOSE SANITIZE WERROR,$(eval \
	$(call zero_or_one,$(knob))))

VERSION := $(shell cat VERSION)
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
Q := $(if $(filter 1,$(VERBOSE)),,@)

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wundef -Wformat=2 \
	-Wmissing-prototypes -Wstrict-prototypes \
	$(if $(filter 1,$(WERROR)),-Werror)
OPT := $(if $(filter 1,$(DEBUG)),-O0 -g3,-O3 -g)
ifeq ($(SANITIZE),1)
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
endif
CPPFLAGS += -I. -D_POSIX_C_SOURCE=200809L
CFLAGS_ALL := -std=c11 $(OPT) $(WARN) -ffp-contract=off $(SAN) $(CFLAGS)
LDFLAGS_ALL := $(SAN) $(LDFLAGS)

OPENBLAS_CFLAGS := $(shell pkg-config --cflags openblas 2>/dev/null)
OPENBLAS_LIBS := $(or $(shell pkg-config --libs openblas 2>/dev/null),-lopenblas)
# Static, so that a binary made here runs where only the libraries of
# OpenBLAS and CUDA are.
JSON_LIBS := -l:libjansson.a
YAML_LIBS := -l:libyaml.a
COMMON_LIBS := $(JSON_LIBS) -lm -lpthread

BIN := $(BUILDDIR)/bin
OBJ := $(BUILDDIR)/obj
LIB := $(BUILDDIR)/libgp.a
WORKERS := naive openblas simulated faulty $(if $(filter 1,$(CUDA)),cublas)
WORKER_BINS := $(WORKERS:%=$(BIN)/gemmproof-worker-%)

LIB_SRC := $(wildcard harness/base/*.c reference/*.c harness/model*.c \
	harness/check/*.c reports/*.c harness/engine/*.c) \
	harness/worker/wire.c harness/worker/schedule.c \
	harness/worker/backends/host.c harness/worker/backends/host_naive.c \
	harness/worker/backends/simulated_mma.c \
	harness/worker/backends/simulated_panel.c \
	harness/worker/backends/simulated_plan.c
CLI_SRC := $(wildcard harness/cli/*.c)
UNIT_SRC := $(wildcard tests/unit/*.c)
HEADERS := $(wildcard harness/*.h harness/*/*.h harness/*/*/*.h reference/*.h \
	reports/*.h tests/unit/*.h)
object = $(patsubst %,$(OBJ)/%.o,$(1))

.PHONY: all help setup setup-dev verify check unit lint bench clean install \
	bundle faults false-alarms
all: $(BIN)/gemmproof $(WORKER_BINS)

help:
	@sed 's/^/  /' ci/help.txt

$(BIN)/gemmproof: $(call object,$(CLI_SRC)) $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(OPENBLAS_LIBS) $(YAML_LIBS) $(COMMON_LIBS)

SRC_faulty := $(wildcard harness/worker/backends/faulty_*.c)
LIBS_openblas := $(OPENBLAS_LIBS)
LIBS_cublas := -L$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt
SRC_cublas := $(wildcard harness/worker/backends/cublas_*.c \
	harness/worker/backends/cuda_*.cu)

define worker_rule
$(BIN)/gemmproof-worker-$(1): \
		$(call object,harness/worker/worker.c harness/worker/backends/$(1).c $(SRC_$(1))) $(LIB)
	@mkdir -p $$(@D)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $$@ $$^ $(LIBS_$(1)) $(COMMON_LIBS)
endef
$(foreach worker,$(WORKERS),$(eval $(call worker_rule,$(worker))))

$(LIB): $(call object,$(LIB_SRC))
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(OBJ)/reference/refgemm.c.o $(OBJ)/reference/slices.c.o \
		$(OBJ)/reference/trial.c.o $(OBJ)/harness/worker/backends/openblas.c.o \
		$(OBJ)/tests/unit/certificate.c.o: \
	CPPFLAGS += $(OPENBLAS_CFLAGS)
$(OBJ)/harness/worker/backends/cublas%: CPPFLAGS += -isystem $(CUDA_HOME)/include
$(OBJ)/harness/cli/main.c.o: CPPFLAGS += -DGP_VERSION='"$(VERSION)"' \
	-DGP_COMMIT='"$(COMMIT)"'
# repro --c copies definitions out of these, which it carries.
$(OBJ)/harness/cli/repro_text.c.o: $(wildcard harness/cli/repro_*.cu \
	reference/*.[ch]) harness/base/hash.h
$(OBJ)/harness/cli/main.c.o: VERSION $(wildcard .git/HEAD .git/refs/heads/*)

$(OBJ)/%.c.o: %.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(OBJ)/%.cu.o: %.cu Makefile
	@mkdir -p $(@D)
	$(Q)$(NVCC) -I. -O2 -arch=$(CUDA_ARCH) -std=c++17 \
		-Xcompiler -fno-exceptions,-fno-threadsafe-statics -MMD -MF $(@:.o=.d) \
		-MT $@ -c -o $@ $<

setup:
	@ci/setup.sh run

setup-dev:
	@ci/setup.sh dev

# Through the environment: a path may have blanks.
verify faults false-alarms: export BINDIR := $(BIN)
verify: export BACKEND := $(BACKEND)
verify: export SUITE := $(SUITE)
verify: all
	@ci/verify.sh

# Every row of tests/faults.tsv, and what catches it.
faults: all
	@ci/faults.sh

# Right workers over many seeds: what the checks say that they should not.
false-alarms: export SEEDS := $(SEEDS)
false-alarms: export SMOKE_SEEDS := $(SMOKE_SEEDS)
false-alarms: all
	@ci/false-alarms.sh

# Everything a change must pass; says how long each step took.
check:
	@ci/check.sh

$(BUILDDIR)/unit: $(call object,$(UNIT_SRC)) $(LIB)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(OPENBLAS_LIBS) $(YAML_LIBS) \
		-lcriterion $(COMMON_LIBS)

unit: $(BUILDDIR)/unit
	@$(BUILDDIR)/unit $(UNIT_ARGS)

# Ratios measured in one run, never asserted.
$(BUILDDIR)/bench: $(call object,tests/bench/bench.c) $(LIB)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(OPENBLAS_LIBS) $(COMMON_LIBS)
$(OBJ)/tests/bench/bench.c.o: CPPFLAGS += $(OPENBLAS_CFLAGS)

bench: $(BUILDDIR)/bench
	@$(BUILDDIR)/bench $(BENCH_ARGS)

lint:
	@ci/lint.sh

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/gemmproof/cases
	install -m 755 $(BIN)/gemmproof $(WORKER_BINS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 cases/*.yaml $(DESTDIR)$(PREFIX)/share/gemmproof/cases

# A tar.gz for a machine without development packages.
bundle: all
	@VERSION=$(VERSION) BUILDDIR=$(BUILDDIR) ci/bundle.sh $(BIN)/gemmproof \
		$(WORKER_BINS)

clean:
	rm -rf $(BUILDDIR)

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
