# portolan. `make help` lists the targets. One file for the whole project; the sanitizer and fuzz builds are
# this same file run once more with other flags into a folder of their own.

VERSION := 0.1.0
SOVERSION := 0

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 30
JOBS ?= 2
MPICC ?= mpicc
CXX ?= c++
# DEPS=DIR: where Debian packages are unpacked (dpkg -x) for users without root.
DEPS ?=
# V=1: print whole commands.
V ?=
# EXTRA: further flags for compiling and linking; the sanitizer and fuzz builds use it.
EXTRA ?=

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
comma := ,
hash := \#
Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)  $@")

# --- flags ---------------------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
DEPS_CPPFLAGS := $(if $(DEPS),-isystem $(DEPS)/usr/include)
DEPS_LDFLAGS := $(if $(DEPS),-L$(DEPS)/usr/lib/x86_64-linux-gnu -Wl$(comma)-rpath$(comma)$(DEPS)/usr/lib/x86_64-linux-gnu)

# Each component sees its own headers and those of what it may depend on, and no others.
LIB_INCLUDES := -Imodel/include -Imodel/src
EXEC_INCLUDES := -Imodel/include -Iimpl/include -Iimpl
TEST_INCLUDES := $(LIB_INCLUDES) -Imodel/tool -Iimpl/include -Iimpl -Ivalidate -Iparallel -Itests
includes_for = $(strip $(if $(filter model/src/% model/strategies/% model/algorithms/% model/fit/% model/tool/%,$(1)),$(LIB_INCLUDES), \
	$(if $(filter impl/% docs/examples/%,$(1)),$(EXEC_INCLUDES), \
	$(if $(filter calibrate/% parallel/%,$(1)),$(EXEC_INCLUDES) -Iparallel, \
	$(if $(filter validate/%,$(1)),$(EXEC_INCLUDES) -Imodel/tool -Iparallel,$(TEST_INCLUDES))))))
DEFINES := -D_POSIX_C_SOURCE=200809L -DPORTOLAN_VERSION='"$(VERSION)"' \
	-DPORTOLAN_DATADIR='"$(PREFIX)/share/portolan"'
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=c11 $(DEFINES) $(call includes_for,$<) $(DEPS_CPPFLAGS) $(WARNINGS) -fPIC $(CFLAGS) $(EXTRA)
LINK_FLAGS = $(EXTRA) $(DEPS_LDFLAGS) $(LDFLAGS)
MPI_CPPFLAGS = $(shell $(MPICC) --showme:compile 2>/dev/null)

# --- sources: whatever is in the folders; absent folders are empty lists -------------------------------------

LIB_SRC := $(wildcard model/src/*/*.c model/strategies/*.c model/algorithms/*.c)
TOOL_SRC := $(wildcard model/tool/*.c)
FIT_SRC := $(wildcard model/fit/*.c)
CALIBRATE_SRC := $(wildcard calibrate/*.c)
# What the MPI programs share; files of rows know no MPI.
ROW_FILE_SRC := parallel/row_file.c
PARALLEL_SRC := $(wildcard parallel/*.c)
# Kernels' programs know no MPI either.
PROGRAM_SRC := impl/growing.c impl/lines.c impl/program.c impl/reduce.c
IMPL_SRC := $(filter-out $(PROGRAM_SRC),$(wildcard impl/*.c))
# The counters know no MPI, so that the unit tests have them where there is none.
METER_SRC := $(wildcard validate/meter*.c)
# What reads command lines: the programs' common part.
OPTIONS_SRC := $(addprefix model/tool/,arguments.c find_machine.c option_table.c options.c)
VALIDATE_SRC := $(filter-out $(METER_SRC),$(wildcard validate/*.c))
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_HELP_SRC := $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
MPI_BENCH_SRC := $(wildcard tests/bench/bench_exec.c)
BENCH_SRC := $(filter-out $(MPI_BENCH_SRC),$(wildcard tests/bench/bench_*.c))
# fit.h belongs to libportolan-fit, which is not installed.
INSTALLED_HEADERS := $(filter-out %/fit.h,$(wildcard model/include/portolan/*.h))

MPI_TEST_SRC := $(wildcard tests/mpi/test_*.c)
EXEC_CASE_SRC := $(wildcard tests/mpi/exec_*.c)
FAKE_SRC := $(wildcard tests/mpi/fake_*.c)
EXAMPLE_SRC := $(wildcard docs/examples/*.c)

MPI_SRC := $(CALIBRATE_SRC) $(filter-out $(ROW_FILE_SRC),$(PARALLEL_SRC)) $(IMPL_SRC) $(VALIDATE_SRC) \
	$(MPI_TEST_SRC) $(EXEC_CASE_SRC) $(FAKE_SRC) $(EXAMPLE_SRC) $(MPI_BENCH_SRC)
PLAIN_SRC := $(LIB_SRC) $(TOOL_SRC) $(FIT_SRC) $(METER_SRC) $(PROGRAM_SRC) $(ROW_FILE_SRC) $(UNIT_SRC) \
	$(UNIT_HELP_SRC) $(FUZZ_SRC) $(BENCH_SRC)
ALL_C := $(PLAIN_SRC) $(MPI_SRC)
FORMATTED := $(ALL_C) $(wildcard model/*/*.h model/src/*/*.h model/include/portolan/*.h tests/*.h tests/*/*.h calibrate/*.h \
	impl/*.h impl/*.cu impl/*.cuh impl/include/portolan/*.h calibrate/*.cu validate/*.h parallel/*.h)

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB := $(BUILD)/libportolan.a
SHARED := $(BUILD)/libportolan.so.$(VERSION)
FIT_LIB := $(if $(FIT_SRC),$(BUILD)/libportolan-fit.a)
FIT_LDLIBS := $(if $(FIT_SRC),-lgsl -lgslcblas)
TOOL := $(if $(TOOL_SRC),$(BUILD)/portolan)
# The tool's commands without its main, for the tests.
TOOL_PARTS := $(filter-out $(BUILD)/obj/model/tool/portolan.o,$(call object,$(TOOL_SRC)))
# The MPI programs are built where MPI and hwloc are.
HAVE_MPI := $(if $(MPI_SRC),$(shell echo '$(hash)include <hwloc.h>' | $(MPICC) $(DEPS_CPPFLAGS) -E - >/dev/null 2>&1 && echo yes))
MPI_PROGRAMS := $(if $(HAVE_MPI),$(if $(CALIBRATE_SRC),$(BUILD)/portolan-calibrate) \
	$(if $(VALIDATE_SRC),$(BUILD)/portolan-validate))
MPI_TESTS := $(if $(HAVE_MPI),$(patsubst tests/mpi/%.c,$(BUILD)/tests/%,$(MPI_TEST_SRC)) \
	$(patsubst docs/examples/%.c,$(BUILD)/tests/example_%,$(EXAMPLE_SRC)))
EXEC_LIB := $(if $(HAVE_MPI),$(if $(IMPL_SRC),$(BUILD)/libportolan-exec.a))
# CUDA where nvcc is; without it the programs say so at run time.
NVCC ?= nvcc
CUDA_ARCH ?= 90
CUDA_SRC := $(wildcard calibrate/*.cu impl/*.cu)
HAVE_NVCC := $(if $(CUDA_SRC),$(shell command -v $(NVCC) 2>/dev/null))
cuda_object = $(if $(HAVE_NVCC),$(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard $(1)/*.cu)))
CUDA_DEFINE := $(if $(HAVE_NVCC),-DPORTOLAN_CUDA)
# Where the CUDA libraries lie nvcc itself knows best: the one on the path may be a wrapper of another folder's.
CUDA_LIBRARIES := $(if $(HAVE_NVCC),$(shell $(NVCC) -dryrun -x cu /dev/null 2>&1 | sed -n 's/^\#[$$] LIBRARIES= *//p'))
CUDA_LDLIBS := $(if $(HAVE_NVCC),$(CUDA_LIBRARIES) -lcudart_static -lrt -lpthread -ldl -lstdc++)
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(UNIT_SRC))
UNIT_CXX := $(patsubst tests/unit/%.cc,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.cc))
FUZZ := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzzers/%,$(FUZZ_SRC))
BENCH := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_SRC))
# SimGrid's SMPI, to be compared with, where it is installed.
SMPI_BENCH := $(if $(shell command -v smpicc 2>/dev/null),$(BUILD)/bench/smpi_alltoall)
MPI_BENCH := $(if $(HAVE_MPI),$(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(MPI_BENCH_SRC)))
LDLIBS := -lyaml -lm
# What checks results shares large vectors between threads, where the compiler knows OpenMP.
OPENMP := $(shell echo 'int main(void) { return 0; }' | $(CC) -fopenmp -xc - -o /dev/null 2>/dev/null && echo -fopenmp)
$(BUILD)/obj/validate/reference.o: ALL_CFLAGS += $(if $(OPENMP),$(OPENMP),-Wno-unknown-pragmas)

# --- build ---------------------------------------------------------------------------------------------------

.PHONY: build
build: $(LIB) $(SHARED) $(FIT_LIB) $(EXEC_LIB) $(TOOL) $(MPI_PROGRAMS) ## build the library and the programs (default)

$(call object,$(PLAIN_SRC)): $(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(call object,$(MPI_SRC)): $(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(MPICC) $(ALL_CFLAGS) $(CUDA_DEFINE) -MMD -MP -c $< -o $@

$(LIB): $(call object,$(LIB_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(SHARED): $(call object,$(LIB_SRC))
	$(call say,LD)
	$(Q)$(CC) -shared -Wl,-soname,libportolan.so.$(SOVERSION) $(LINK_FLAGS) $^ $(LDLIBS) -o $@

$(FIT_LIB): $(call object,$(FIT_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/portolan: $(call object,$(TOOL_SRC)) $(FIT_LIB) $(LIB)
	$(call say,LD)
	$(Q)$(CC) $(LINK_FLAGS) $^ $(FIT_LDLIBS) $(LDLIBS) -o $@

$(BUILD)/obj/%.cu.o: %.cu Makefile
	@mkdir -p $(@D)
	$(call say,NVCC)
	$(Q)$(NVCC) -std=c++17 -O3 -Imodel/include -Iimpl/include -Iimpl $(filter -I%,$(MPI_CPPFLAGS)) -DOMPI_SKIP_MPICXX \
		-gencode arch=compute_$(CUDA_ARCH),code=sm_$(CUDA_ARCH) \
		-gencode arch=compute_$(CUDA_ARCH),code=compute_$(CUDA_ARCH) -Xcompiler -Wall,-Wextra,-fPIC \
		-MMD -MP -MF $(@:.o=.d) -c $< -o $@

# The executor's device, so that what is measured is what runs plans.
$(BUILD)/portolan-calibrate: $(call object,$(CALIBRATE_SRC) $(PARALLEL_SRC)) $(call cuda_object,calibrate) $(EXEC_LIB) $(LIB)
	$(call say,LD)
	$(Q)$(MPICC) $(LINK_FLAGS) $^ $(CUDA_LDLIBS) -lhwloc -lpthread -lrt -ldl $(LDLIBS) -o $@

$(BUILD)/libportolan-exec.a: $(call object,$(IMPL_SRC) $(PROGRAM_SRC)) $(call cuda_object,impl)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/portolan-validate: $(call object,$(VALIDATE_SRC) $(PARALLEL_SRC) $(METER_SRC) $(OPTIONS_SRC)) $(EXEC_LIB) $(LIB)
	$(call say,LD)
	$(Q)$(MPICC) $(LINK_FLAGS) $(OPENMP) $^ $(CUDA_LDLIBS) -lpthread -lrt -ldl $(LDLIBS) -o $@

$(BUILD)/tests/test_exec: $(call object,tests/mpi/test_exec.c $(EXEC_CASE_SRC) validate/reference.c) $(EXEC_LIB) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(MPICC) $(LINK_FLAGS) $(OPENMP) $^ $(CUDA_LDLIBS) -lpthread -lrt -ldl $(LDLIBS) -o $@

$(BUILD)/tests/test_stale: $(call object,tests/mpi/test_stale.c) $(EXEC_LIB) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(MPICC) $(LINK_FLAGS) $^ $(CUDA_LDLIBS) -lpthread -lrt -ldl $(LDLIBS) -o $@

# What the test loads in NCCL's place.
$(BUILD)/tests/fake/libnccl.so.2: $(call object,tests/mpi/fake_nccl.c)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(MPICC) -shared -Wl,-soname,libnccl.so.2 $(LINK_FLAGS) $^ -o $@

# calibrate with host memory in a GPU's place.
$(BUILD)/tests/calibrate_fake: $(call object,$(filter-out calibrate/gpu_none.c,$(CALIBRATE_SRC)) $(PARALLEL_SRC) tests/mpi/fake_gpu.c) \
		$(EXEC_LIB) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(MPICC) $(LINK_FLAGS) $^ $(CUDA_LDLIBS) -lhwloc -lpthread -lrt -ldl $(LDLIBS) -o $@

$(BUILD)/tests/test_nccl: $(call object,tests/mpi/test_nccl.c $(EXEC_CASE_SRC) validate/reference.c) $(EXEC_LIB) $(LIB) \
		| $(BUILD)/tests/fake/libnccl.so.2 $(BUILD)/tests/calibrate_fake
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(MPICC) $(LINK_FLAGS) $(OPENMP) $^ $(CUDA_LDLIBS) -lpthread -lrt -ldl $(LDLIBS) -o $@

$(BUILD)/tests/example_%: $(BUILD)/obj/docs/examples/%.o $(EXEC_LIB) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(MPICC) $(LINK_FLAGS) $^ $(CUDA_LDLIBS) -lpthread -lrt -ldl $(LDLIBS) -o $@

# The kernels' own code, compiled for the host.
$(UNIT_CXX): $(BUILD)/tests/%: tests/unit/%.cc $(wildcard impl/*.cuh impl/*.h) $(call object,impl/reduce.c) $(LIB) Makefile
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 $(TEST_INCLUDES) $(DEPS_CPPFLAGS) -Wall -Wextra -Wno-unknown-pragmas $(CFLAGS) $(EXTRA) \
		$(DEPS_LDFLAGS) $(LDFLAGS) $< $(call object,impl/reduce.c) $(LIB) -lcmocka $(LDLIBS) -o $@

$(UNIT): $(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(call object,$(UNIT_HELP_SRC) $(METER_SRC) $(PROGRAM_SRC) $(ROW_FILE_SRC)) $(TOOL_PARTS) $(FIT_LIB) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LINK_FLAGS) $^ -lcmocka $(FIT_LDLIBS) -ldl $(LDLIBS) -o $@

$(FUZZ): $(BUILD)/fuzzers/%: $(BUILD)/obj/tests/fuzz/%.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LINK_FLAGS) -fsanitize=fuzzer $^ $(LDLIBS) -o $@

$(BENCH): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(TOOL_PARTS) $(FIT_LIB) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LINK_FLAGS) $^ $(FIT_LDLIBS) $(LDLIBS) -o $@

$(MPI_BENCH): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(EXEC_LIB) $(LIB)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(MPICC) $(LINK_FLAGS) $^ $(CUDA_LDLIBS) -lpthread -lrt -ldl $(LDLIBS) -o $@

$(BUILD)/bench/smpi_alltoall: tests/bench/smpi_alltoall.c
	@mkdir -p $(@D)
	$(call say,SMPICC)
	$(Q)smpicc -O2 $< -o $@

-include $(patsubst %.c,$(BUILD)/obj/%.d,$(ALL_C)) $(patsubst %,$(BUILD)/obj/%.d,$(CUDA_SRC))

# --- what a newcomer runs ------------------------------------------------------------------------------------

.PHONY: demo
demo: ## install what is missing, build, and show what strategies cost on Summit and Lassen
	@tools/deps.sh "$(DEPS)" build
	@$(MAKE) --no-print-directory build
	$(BUILD)/portolan predict scenarios/problems/alltoall-summit.yaml
	$(BUILD)/portolan pick scenarios/problems/alltoall-summit.yaml
	$(BUILD)/portolan predict scenarios/problems/alltoall-lassen.yaml
	$(BUILD)/portolan pick scenarios/problems/alltoall-lassen.yaml

.PHONY: test
test: ## install what is missing, build, and run the unit, golden and header tests
	@tools/deps.sh "$(DEPS)" build test
	@$(MAKE) --no-print-directory build unit-programs
	@BUILD=$(BUILD) CXX=$(CXX) tools/test.sh unit golden headers

.PHONY: deps
deps: ## install everything that any target needs (apt-get as root or through sudo)
	@tools/deps.sh "$(DEPS)" build test check mpi

# --- single checks -------------------------------------------------------------------------------------------

.PHONY: unit-programs check-unit check-golden check-headers golden-update
unit-programs: $(UNIT) $(UNIT_CXX)

check-unit: $(UNIT) $(UNIT_CXX) $(TOOL) ## run the unit tests only
	@BUILD=$(BUILD) tools/test.sh unit

check-golden: $(TOOL) ## compare the output of commands with tests/golden and the documents
	@BUILD=$(BUILD) tools/test.sh golden

check-headers: ## compile every public header alone, as C11 and as C++17
	@BUILD=$(BUILD) CXX=$(CXX) tools/test.sh headers

golden-update: $(TOOL) ## write tests/golden/*.out anew from what the commands print; read the diff
	@BUILD=$(BUILD) tools/test.sh golden-update

.PHONY: check-mpi check-cluster check-gpu
check-mpi: $(MPI_PROGRAMS) $(MPI_TESTS) $(TOOL) ## run the MPI programs' tests under mpirun on this machine
	@tools/each.sh mpi 1 'BUILD=$(BUILD) "$$1" || [ $$? = 77 ]' $(wildcard tests/mpi/test_*.sh)

# Each says itself why it was skipped.
CLUSTER_TESTS := $(wildcard tests/cluster/test_*.sh)
check-cluster: $(MPI_PROGRAMS) $(MPI_TESTS) $(TOOL) ## the same on a cluster of network namespaces (root, iproute2; else skipped)
	@passed=0; failed=0; for test in $(CLUSTER_TESTS); do \
		BUILD=$(BUILD) "$$test"; \
		case $$? in 0) passed=$$((passed + 1)) ;; 77) ;; *) failed=$$((failed + 1)) ;; esac; \
	done; echo "cluster: $$passed passed, $$failed failed"; [ $$failed = 0 ]

check-gpu: ## the same and more on this machine's GPUs (without one: skipped, exit 77)
	@BUILD=$(BUILD) tests/gpu/check_gpu.sh

# Its variables (OUT, NAME, LIMIT, DEVICE, GPUS and more) are at the head of the script and in docs/calibrating.md.
.PHONY: gpu-suite
gpu-suite: ## build, check, calibrate, validate, export results; resumable: OUT= NAME= LIMIT= DEVICE=host
	@BUILD=$(BUILD) tests/gpu/suite.sh

# The executor's bench runs on the host device unless told otherwise: make bench BENCH_DEVICE=cuda.
BENCH_DEVICE ?= host
BENCH_MPIRUN ?= mpirun -n 2 --oversubscribe
BENCH_SHORT ?=
.PHONY: bench
bench: $(TOOL) $(BENCH) $(MPI_BENCH) $(SMPI_BENCH) ## run the benchmarks; BENCH_SHORT=1: only check their results, in seconds
	@passed=0; failed=0; \
	export BENCH_SHORT=$(BENCH_SHORT) PORTOLAN=$(BUILD)/portolan SMPI_ALLTOALL=$(SMPI_BENCH) \
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; \
	for program in $(BENCH) $(foreach program,$(MPI_BENCH),'$(BENCH_MPIRUN) $(program) $(BENCH_DEVICE)'); do \
		if $$program; then passed=$$((passed + 1)); else failed=$$((failed + 1)); fi; \
	done; echo "bench: $$passed passed, $$failed failed"; [ $$failed = 0 ]

.PHONY: figures
figures: $(TOOL) ## draw docs/figures anew (needs gnuplot)
	@BUILD=$(BUILD) tools/figures.sh docs/figures

.PHONY: man
man: $(TOOL) ## write the options into docs/man/portolan.1 anew, from the table of options
	@awk -v command='$(BUILD)/portolan completion man' ' \
		/^\.\\" options:/ { print; while ((command | getline line) > 0) print line; inside = 1 } \
		/^\.\\" end of options/ { inside = 0 } \
		!inside' docs/man/portolan.1 > $(BUILD)/portolan.1
	@mv $(BUILD)/portolan.1 docs/man/portolan.1

.PHONY: sanitize
sanitize: ## run the unit tests under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/sanitize CC=clang CFLAGS='-O1 -g -fno-omit-frame-pointer' \
		EXTRA='-fsanitize=address$(comma)undefined -fno-sanitize-recover=all' check-unit

.PHONY: fuzz fuzz-run
fuzz: ## run each libFuzzer target for FUZZ_SECONDS (30)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=clang CFLAGS='-O1 -g' \
		EXTRA='-fsanitize=fuzzer-no-link$(comma)address$(comma)undefined -fno-sanitize-recover=all' fuzz-run

# What fuzz_X finds new goes to the build folder; it starts from tests/fuzz/corpus/X.
fuzz-run: $(FUZZ)
	@tools/each.sh fuzz 2 'name=$${1##*/fuzz_}; corpus=$(BUILD)/corpus/$$name; seeds=tests/fuzz/corpus/$$name; \
		mkdir -p "$$corpus"; [ -d "$$seeds" ] || seeds=; \
		"$$1" -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -verbosity=0 -close_fd_mask=1 \
		-artifact_prefix=$(BUILD)/ "$$corpus" $$seeds' $(FUZZ)

.PHONY: format
format: ## format every C file in place
	clang-format -i $(FORMATTED)

.PHONY: format-check
format-check: ## fail where clang-format would change a file
	@tools/each.sh format $(JOBS) 'clang-format --dry-run --Werror "$$1"' $(FORMATTED)

# cppcheck 2.10 cannot parse a compound literal in a conditional: internalAstError is its own fault.
.PHONY: lint
lint: ## clang-tidy and cppcheck; both must be clean
	@tools/each.sh lint $(JOBS) 'clang-tidy --quiet "$$1" -- -std=c11 $(subst ','\'',$(DEFINES)) $(TEST_INCLUDES) \
		$(DEPS_CPPFLAGS) $(if $(MPI_SRC),$(MPI_CPPFLAGS)) 2>/dev/null && \
		cppcheck --quiet --std=c11 --enable=warning$(comma)performance$(comma)portability --inline-suppr \
		--suppress=internalAstError \
		--error-exitcode=1 -Imodel/include -Imodel/src -Imodel/tool "$$1"' $(ALL_C)

# --- install, clean, help ------------------------------------------------------------------------------------

.PHONY: install
install: build ## install library, headers, pkg-config file, programs, man pages, machines (PREFIX, DESTDIR)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig \
		$(DESTDIR)$(PREFIX)/include/portolan $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(TOOL) $(MPI_PROGRAMS) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(LIB) $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(SHARED) $(DESTDIR)$(PREFIX)/lib
	ln -sf libportolan.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libportolan.so.$(SOVERSION)
	ln -sf libportolan.so.$(SOVERSION) $(DESTDIR)$(PREFIX)/lib/libportolan.so
	install -m 644 $(INSTALLED_HEADERS) $(DESTDIR)$(PREFIX)/include/portolan
	$(if $(EXEC_LIB),install -m 644 $(EXEC_LIB) $(DESTDIR)$(PREFIX)/lib)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' portolan.pc.in \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/portolan.pc
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/portolan/machines
	install -m 644 scenarios/machines/*.yaml $(DESTDIR)$(PREFIX)/share/portolan/machines

.PHONY: clean
clean: ## remove everything that was built
	rm -rf $(BUILD)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  variables: PREFIX DESTDIR BUILD CC CFLAGS DEPS=DIR FUZZ_SECONDS JOBS V=1"
	@echo "  of gpu-suite: OUT NAME LIMIT DEVICE GPUS BUDGET COLLECTIVES BYTES CORES REPEATS CASES RACE QUEUED MACHINE AT DEPS OPENMPI"
