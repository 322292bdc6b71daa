# portolan. `make help` lists the targets. One file for the whole project; the sanitizer and fuzz builds run
# it again with other flags and a build folder of their own.

VERSION := $(shell sed -n 's/^.define PTO_VERSION_TEXT "\(.*\)"/\1/p' model/include/portolan/api.h)
SOVERSION := 0

BUILD ?= build
# The build folder of the objects that do not depend on MPI: builds for several MPI libraries can share them.
PLAIN ?= $(BUILD)
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
FUZZ_SECONDS ?= 30
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Any MPI's wrapper: mpicc, mpicc.mpich, ...
MPICC ?= mpicc
CXX ?= c++
PYTHON ?= python3
# DEPS=DIR: where Debian packages are unpacked (dpkg -x) for users without root.
DEPS ?=
# V=1: print whole commands.
V ?=
# EXTRA: additional flags for compiling and linking; the sanitizer and fuzz builds use it.
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
# Functions of tests have the parameters that cmocka, or the function that they replace, has; the linker, not a header,
# knows those that replace another.
TEST_WARNINGS = $(if $(filter tests/%,$<),-Wno-unused-parameter -Wno-missing-prototypes)
DEPS_CPPFLAGS := $(if $(DEPS),-isystem $(DEPS)/usr/include)
DEPS_LIBDIR := $(DEPS)/usr/lib/$(if $(DEPS),$(shell $(CC) -print-multiarch 2>/dev/null))
DEPS_LDFLAGS := $(if $(DEPS),-L$(DEPS_LIBDIR) -Wl$(comma)-rpath$(comma)$(DEPS_LIBDIR))

# Each component sees only its own headers and those of the components that it may depend on.
# What is installed is in include; what our own programs and tests use besides is in internal.
MODEL_INCLUDES := -Imodel/include -Imodel/internal
LIB_INCLUDES := $(MODEL_INCLUDES) -Imodel/src
# The rooms of the tool: what every command line shares, tables and plots, exports, the report, upgrades, the commands.
ROOMS := command_line show export report upgrade tool
EXEC_INCLUDES := $(LIB_INCLUDES) -Iimpl/include -Iimpl/internal -Iimpl -Iimpl/mpi
TEST_INCLUDES := $(EXEC_INCLUDES) -Imodel -Imodel/tool -Icalibrate -Ivalidate -Iparallel -Ipreload -Iprofile -Idropin -Inccl_dropin -Ituner -Itests \
	-Imodel/traces -isystem $(PLAIN)/gen
includes_for = $(strip $(if $(filter model/src/% model/strategies/% model/algorithms/% model/fit/% model/scotch/%,$(1)),$(LIB_INCLUDES), \
	$(if $(filter $(ROOMS:%=model/%/%),$(1)),$(LIB_INCLUDES) -Imodel -Ituner, \
	$(if $(filter model/traces/%,$(1)),$(LIB_INCLUDES) -Imodel/traces -isystem $(PLAIN)/gen, \
	$(if $(filter impl/% docs/examples/%,$(1)),$(EXEC_INCLUDES), \
	$(if $(filter profile/% preload/%,$(1)),$(LIB_INCLUDES) -Ipreload -Iprofile, \
	$(if $(filter dropin/%,$(1)),$(EXEC_INCLUDES) -Imodel -Ipreload -Idropin,$(if $(filter nccl_dropin/%,$(1)),$(EXEC_INCLUDES) -Imodel -Ipreload -Inccl_dropin,$(if $(filter tuner/%,$(1)),$(LIB_INCLUDES) -Ituner, \
	$(if $(filter calibrate/% validate/% parallel/%,$(1)),$(EXEC_INCLUDES) -Imodel -Iparallel -Icalibrate,$(TEST_INCLUDES)))))))))))
# The installation folder is not compiled in: the program finds its data relative to its own path.
DEFINES := -D_POSIX_C_SOURCE=200809L
# Functions and lines for backtraces take a quarter less of the compiler's time than -g. For a debugger: CFLAGS='-O0 -g'.
CFLAGS ?= -O2 -g1
# The shared libraries export the functions that public headers mark (portolan/api.h).
VISIBILITY := -fvisibility=hidden
ALL_CFLAGS = -std=c11 $(DEFINES) $(call includes_for,$<) $(DEPS_CPPFLAGS) $(WARNINGS) $(TEST_WARNINGS) -fPIC $(VISIBILITY) $(CFLAGS) $(EXTRA)
LINK_FLAGS = $(EXTRA) $(DEPS_LDFLAGS) $(LDFLAGS)
# Open MPI's and MPICH's wrappers both know -show. GCC takes MPICH's MPI_STATUSES_IGNORE for a real array.
MPI_SHOW := $(shell $(MPICC) -show 2>/dev/null)
MPI_CPPFLAGS = $(filter -I% -D%,$(MPI_SHOW))
MPI_WARNINGS := $(if $(findstring mpich,$(MPI_SHOW)),-Wno-stringop-overflow)

# $(call stamp,NAME,WORDS,FOLDER) is a file that is rewritten only when WORDS change, which rebuilds whatever depends
# on it. `make -n` writes nothing and yields FORCE instead. $(strip): make 4.3 keeps a file's last newline at times.
dry_run := $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
differ = $(subst x$(1),,x$(2))$(subst x$(2),,x$(1))
write_stamp = $(shell mkdir -p $(dir $(1)))$(file >$(1),$(2))$(1)
stamp_at = $(if $(call differ,$(2),$(strip $(file <$(1)))),$(if $(dry_run),FORCE,$(call write_stamp,$(1),$(2))),$(1))
stamp = $(call stamp_at,$(or $(3),$(BUILD))/flags/$(1),$(strip $(2)))
FORCE:

# --- sources: everything in the folders; absent folders yield empty lists ------------------------------------

LIB_SRC := $(wildcard model/src/*/*.c model/strategies/*.c model/algorithms/*.c)
COMMAND_LINE_SRC := $(wildcard model/command_line/*.c)
TOOL_SRC := $(wildcard $(ROOMS:%=model/%/*.c))
FIT_SRC := $(wildcard model/fit/*.c)
# Readers of recordings: jansson, protobuf-c and zlib, so a library of their own.
TRACES_SRC := $(wildcard model/traces/*.c)
# The mapper of SCOTCH: a library of its own, opened at run time, built if libscotch-dev (7 or later) is installed.
HAVE_SCOTCH := $(shell printf '$(hash)include <stdio.h>\n$(hash)include <stdint.h>\n$(hash)include <scotch/scotch.h>\nSCOTCH_Context context;\n' | \
	$(CC) $(DEPS_CPPFLAGS) -fsyntax-only -xc - >/dev/null 2>&1 && echo yes)
SCOTCH_SRC := $(if $(HAVE_SCOTCH),$(wildcard model/scotch/*.c))
CALIBRATE_SRC := $(wildcard calibrate/*.c calibrate/bench/*.c)
# Shared by the MPI programs; files of rows do not depend on MPI.
ROW_FILE_SRC := parallel/row_file.c
PARALLEL_SRC := $(wildcard parallel/*.c)
# Kernels' programs do not depend on MPI either.
PROGRAM_SRC := impl/device/vector.c impl/kernels/program.c impl/device/reduce.c impl/device/host_stream.c
IMPL_SRC := $(filter-out $(PROGRAM_SRC) impl/mpi/%,$(wildcard impl/*.c impl/*/*.c))
# The executor's part for plans with messages.
IMPL_MPI_SRC := $(wildcard impl/mpi/*.c)
# The counters do not depend on MPI, so that the unit tests can use them without it.
METER_SRC := $(wildcard validate/meter*.c)
VALIDATE_SRC := $(filter-out $(METER_SRC),$(wildcard validate/*.c))
# Libraries in front of MPI in unchanged programs: what they share, the profiler, and the drop-in.
PRELOAD_SRC := $(wildcard preload/*.c)
PRELOAD_PLAIN_SRC := $(addprefix preload/,call_rows.c driver.c environment.c rows.c)
PROFILE_SRC := $(wildcard profile/*.c)
# The tuner plugin for NCCL needs neither NCCL nor, at run time, the library, of which it contains what it calls.
TUNER_SRC := $(wildcard tuner/*.c)
DROPIN_SRC := $(wildcard dropin/*.c)
# In front of NCCL, without MPI.
NCCL_DROPIN_SRC := $(wildcard nccl_dropin/*.c)
NCCL_DROPIN_PARTS := $(NCCL_DROPIN_SRC) $(PRELOAD_PLAIN_SRC) dropin/library_folder.c
TEST_LIB_SRC := $(wildcard tests/*.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_HELP_SRC := $(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
MPI_BENCH_SRC := $(wildcard tests/bench/bench_exec.c tests/bench/bench_create.c tests/bench/bench_profile.c \
	tests/bench/bench_dropin.c tests/bench/bench_agree.c tests/bench/bench_first_call.c tests/bench/one_of_many.c)
BENCH_SRC := $(filter-out $(MPI_BENCH_SRC),$(wildcard tests/bench/bench_*.c))

MPI_TEST_SRC := $(wildcard tests/mpi/test_*.c)
EXEC_CASE_SRC := $(wildcard tests/mpi/exec_*.c)
MADE_SRC := $(wildcard tests/mpi/made_*.c)
MEMBERS_SRC := tests/mpi/members_expected.c
PROFILE_HELP_SRC := $(wildcard tests/mpi/profile_*.c)
DROPIN_HELP_SRC := $(wildcard tests/mpi/dropin_*.c)
NCCL_HELP_SRC := $(wildcard tests/mpi/nccl_*.c)
FAKE_SRC := $(wildcard tests/mpi/fake_*.c)
CLUSTER_SRC := $(wildcard tests/cluster/*.c)
EXAMPLE_SRC := $(wildcard docs/examples/*.c)

MPI_SRC := $(CALIBRATE_SRC) $(filter-out $(ROW_FILE_SRC),$(PARALLEL_SRC)) $(IMPL_MPI_SRC) $(VALIDATE_SRC) $(filter-out $(PRELOAD_PLAIN_SRC),$(PRELOAD_SRC)) $(PROFILE_SRC) $(DROPIN_SRC) \
	$(MPI_TEST_SRC) $(EXEC_CASE_SRC) $(MADE_SRC) $(MEMBERS_SRC) $(PROFILE_HELP_SRC) $(DROPIN_HELP_SRC) $(NCCL_HELP_SRC) $(FAKE_SRC) $(EXAMPLE_SRC) $(MPI_BENCH_SRC)
PLAIN_SRC := $(LIB_SRC) $(TOOL_SRC) $(FIT_SRC) $(TRACES_SRC) $(SCOTCH_SRC) $(TUNER_SRC) $(METER_SRC) $(PROGRAM_SRC) $(IMPL_SRC) $(NCCL_DROPIN_SRC) $(PRELOAD_PLAIN_SRC) $(ROW_FILE_SRC) $(UNIT_SRC) \
	$(TEST_LIB_SRC) $(UNIT_HELP_SRC) $(FUZZ_SRC) $(BENCH_SRC) $(CLUSTER_SRC)
ALL_C := $(PLAIN_SRC) $(MPI_SRC)
FORMATTED := $(ALL_C) $(wildcard model/*/*.h model/src/*/*.h model/include/portolan/*.h model/internal/portolan/*.h tests/*.h tests/*/*.h calibrate/*.h \
	impl/*.h impl/*/*.h impl/*/*.cu impl/*/*.cuh impl/*/portolan/*.h validate/*.h parallel/*.h profile/*.h preload/*.h dropin/*.h nccl_dropin/*.h tuner/*.h)

object = $(patsubst %.c,$(PLAIN)/obj/%.o,$(filter $(PLAIN_SRC),$(1))) $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out $(PLAIN_SRC),$(1)))
LIB := $(BUILD)/libportolan.a
SHARED := $(BUILD)/libportolan.so.$(VERSION)
FIT_LIB := $(if $(FIT_SRC),$(BUILD)/libportolan-fit.a)
# The fit as a shared library, which contains the library, for the Python module.
FIT_SHARED := $(if $(FIT_SRC),$(BUILD)/libportolan-fit.so.$(VERSION))
MAP_LIB := $(if $(SCOTCH_SRC),$(BUILD)/libportolan-map.so)
# Linked by every program that parses a command line or looks for machine files.
COMMAND_LINE_LIB := $(BUILD)/libportolan-command-line.a
TUNER_LIB := $(BUILD)/libportolan-nccl-tuner.so
FIT_LDLIBS := $(if $(FIT_SRC),-lgsl -lgslcblas)
TRACES_LIB := $(BUILD)/libportolan-traces.a
TRACES_LDLIBS := -lexpat -ljansson -lprotobuf-c -lz
PROTOC_C ?= $(if $(DEPS),LD_LIBRARY_PATH=$(DEPS_LIBDIR) $(DEPS)/usr/bin/protoc-c,protoc-c)
# What the tool needs in addition to the library.
TOOL_LDLIBS := $(FIT_LDLIBS) $(TRACES_LDLIBS) -ldl
TOOL := $(if $(TOOL_SRC),$(BUILD)/portolan)
# The tool's commands without its main, for the tests. It reads the tuner plugin's rules as the plugin does.
TOOL_PARTS := $(filter-out %/obj/model/tool/portolan.o,$(call object,$(TOOL_SRC) tuner/rules.c))
# The MPI programs are built if MPI and hwloc are installed.
HAVE_MPI := $(if $(MPI_SRC),$(shell echo '$(hash)include <hwloc.h>' | $(MPICC) $(DEPS_CPPFLAGS) -E - >/dev/null 2>&1 && echo yes))
MPI_PROGRAMS := $(if $(HAVE_MPI),$(if $(CALIBRATE_SRC),$(BUILD)/portolan-calibrate) \
	$(if $(VALIDATE_SRC),$(BUILD)/portolan-validate))
MPI_TESTS := $(if $(HAVE_MPI),$(patsubst tests/mpi/%.c,$(BUILD)/tests/%,$(MPI_TEST_SRC)) \
	$(addprefix $(BUILD)/tests/,fake/libcpus.so fake/librapl.so fake/libucp.so wrong/libportolan-mpi.so fake_nvml/libnvidia-ml.so.1 fake_cuda/libcuda.so.1 test_meter) \
	 $(patsubst docs/examples/%.c,$(BUILD)/tests/example_%,$(EXAMPLE_SRC)))
# The executor without MPI, and with it, for plans with messages: a program links one of them.
KERNEL_LIB := $(if $(IMPL_SRC),$(BUILD)/libportolan-exec.a)
EXEC_LIB := $(if $(HAVE_MPI),$(if $(IMPL_MPI_SRC),$(BUILD)/libportolan-exec-mpi.a))
EXEC_SHARED := $(patsubst %.a,%.so.$(VERSION),$(KERNEL_LIB) $(EXEC_LIB))
PROFILE_LIB := $(if $(HAVE_MPI),$(if $(PROFILE_SRC),$(BUILD)/libportolan-profile.so))
DROPIN_LIB := $(if $(HAVE_MPI),$(if $(DROPIN_SRC),$(BUILD)/libportolan-mpi.so))
NCCL_DROPIN_LIB := $(if $(NCCL_DROPIN_SRC),$(BUILD)/libportolan-nccl.so)
PRELOADED := $(PROFILE_LIB) $(DROPIN_LIB) $(NCCL_DROPIN_LIB)
# CUDA is used if nvcc is installed; otherwise the programs report its absence at run time.
NVCC ?= nvcc
# Several architectures can be built at once: CUDA_ARCH="80 90". Newer GPUs use the PTX of the last one.
CUDA_ARCH ?= 90
CUDA_SRC := $(wildcard impl/*/*.cu)
HAVE_NVCC := $(if $(CUDA_SRC),$(shell command -v $(NVCC) 2>/dev/null))
cuda_object = $(if $(HAVE_NVCC),$(patsubst %.cu,$(BUILD)/obj/%.cu.o,$(wildcard $(1)/*/*.cu)))
CUDA_DEFINE := $(if $(HAVE_NVCC),-DPORTOLAN_CUDA)
# Ask nvcc itself for the CUDA libraries: the nvcc on the path may be a wrapper of one in another folder.
CUDA_LIBRARIES := $(if $(HAVE_NVCC),$(shell $(NVCC) -dryrun -x cu /dev/null 2>&1 | sed -n 's/^\#[$$] LIBRARIES= *//p'))
CUDA_LDLIBS := $(if $(HAVE_NVCC),$(strip $(subst ",,$(CUDA_LIBRARIES))) -lcudart_static -lrt -lpthread -ldl -lstdc++)
CUDA_GENCODE := $(foreach arch,$(CUDA_ARCH),-gencode arch=compute_$(arch)$(comma)code=sm_$(arch)) \
	-gencode arch=compute_$(lastword $(CUDA_ARCH))$(comma)code=compute_$(lastword $(CUDA_ARCH))
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(UNIT_SRC))
UNIT_CXX := $(patsubst tests/unit/%.cc,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.cc))
FUZZ := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzzers/%,$(FUZZ_SRC))
BENCH := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_SRC))
# SimGrid's SMPI, for comparison, if it is installed.
SMPI_BENCH := $(if $(shell command -v smpicc 2>/dev/null),$(BUILD)/bench/smpi_alltoall)
MPI_BENCH := $(if $(HAVE_MPI),$(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(filter-out %/one_of_many.c,$(MPI_BENCH_SRC))))
LDLIBS := -lyaml -lm
# What the executor needs in addition to MPI, and what our programs that contain it are linked with.
EXEC_LDLIBS := $(CUDA_LDLIBS) -lpthread -lrt -ldl
MPI_LDLIBS := $(EXEC_LDLIBS) $(LDLIBS)
# Checking results uses several threads for large vectors, and simulating several plans does, if the compiler
# supports OpenMP.
OPENMP := $(shell echo 'int main(void) { return 0; }' | $(CC) -fopenmp -xc - -o /dev/null 2>/dev/null && echo -fopenmp)
# Tests are compiled once and run once.
$(call object,$(UNIT_SRC) $(MPI_TEST_SRC)): CFLAGS := $(CFLAGS:-O2=-O1)
# Prices are most of what commands take. Flags of the command line are left as they are.
$(call object,$(wildcard model/src/tape/*.c model/src/price/*.c model/src/plan/*.c)): CFLAGS := $(CFLAGS:-O2=-O3)
$(call object,validate/reference.c validate/stencil2d.c model/src/decide/simulate_all.c): ALL_CFLAGS += $(if $(OPENMP),$(OPENMP),-Wno-unknown-pragmas)

NVCC_FLAGS = -std=c++17 -O3 $(MODEL_INCLUDES) -Iimpl/include -Iimpl/internal -Iimpl \
	$(CUDA_GENCODE) -Xcompiler -Wall,-Wextra,-fPIC,$(VISIBILITY)

# --- build ---------------------------------------------------------------------------------------------------

CC_STAMP := $(call stamp,cc,$(CC) $(ALL_CFLAGS) $(CUDA_DEFINE) $(OPENMP) $(LIB_INCLUDES) $(TEST_INCLUDES),$(PLAIN))
MPICC_STAMP := $(if $(HAVE_MPI),$(call stamp,mpicc,$(MPICC) $(MPI_SHOW) $(CUDA_DEFINE)))
CXX_STAMP := $(call stamp,cxx,$(CXX) $(TEST_INCLUDES) $(DEPS_CPPFLAGS) $(CFLAGS) $(EXTRA))
NVCC_STAMP := $(if $(HAVE_NVCC),$(call stamp,nvcc,$(HAVE_NVCC) $(NVCC_FLAGS)))
LINK_STAMP := $(call stamp,link,$(LINK_FLAGS) $(TOOL_LDLIBS) $(OPENMP) $(MPI_LDLIBS))
STAMPS := $(CC_STAMP) $(MPICC_STAMP) $(CXX_STAMP) $(NVCC_STAMP) $(LINK_STAMP)

# $(call link,COMPILER,LIBRARIES): link everything that the target depends on into one program or library.
define link
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(1) $(LINK_FLAGS) $(filter-out $(STAMPS),$^) $(2) -o $@
endef

.PHONY: build
build: $(LIB) $(SHARED) $(FIT_LIB) $(FIT_SHARED) $(TRACES_LIB) $(MAP_LIB) $(TUNER_LIB) $(KERNEL_LIB) $(EXEC_LIB) $(EXEC_SHARED) $(PRELOADED) $(TOOL) $(MPI_PROGRAMS) ## build the library and the programs (default)

# Says which packages are missing before anything is compiled.
FOUND := $(PLAIN)/flags/found
$(FOUND): tools/deps.sh
	@mkdir -p $(@D)
	@tools/deps.sh check "$(DEPS)" build && touch $@
$(call object,$(ALL_C)) $(PLAIN)/gen/chakra.pb-c.c: | $(FOUND)

$(call object,$(PLAIN_SRC)): $(PLAIN)/obj/%.o: %.c Makefile $(CC_STAMP)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# The page of reports is part of the program.
$(PLAIN)/obj/model/report/report_page.o: $(wildcard report/*.* report/vendor/*/*)

$(call object,$(MPI_SRC)): $(BUILD)/obj/%.o: %.c Makefile $(CC_STAMP) $(MPICC_STAMP)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(MPICC) $(ALL_CFLAGS) $(MPI_WARNINGS) $(CUDA_DEFINE) -MMD -MP -c $< -o $@

$(LIB): $(call object,$(LIB_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(SHARED): $(call object,$(LIB_SRC)) $(LINK_STAMP)
	$(call link,$(CC) $(OPENMP) -shared -Wl$(comma)-soname$(comma)libportolan.so.$(SOVERSION),$(LDLIBS))

$(COMMAND_LINE_LIB): $(call object,$(COMMAND_LINE_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(FIT_LIB): $(call object,$(FIT_SRC))
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/libportolan-fit.so.$(VERSION): $(call object,$(FIT_SRC) $(LIB_SRC)) $(LINK_STAMP)
	$(call link,$(CC) $(OPENMP) -shared -Wl$(comma)-Bsymbolic -Wl$(comma)-soname$(comma)libportolan-fit.so.$(SOVERSION),$(FIT_LDLIBS) $(LDLIBS))

# protobuf-c writes the code that reads Chakra's messages.
CHAKRA_C := $(PLAIN)/gen/chakra.pb-c.c
$(CHAKRA_C): model/traces/chakra.proto
	@mkdir -p $(@D)
	$(call say,PROTOC)
	$(Q)$(PROTOC_C) --proto_path=model/traces --c_out=$(@D) $<
$(PLAIN)/obj/gen/chakra.pb-c.o: $(CHAKRA_C) $(CC_STAMP)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) -std=c11 $(DEPS_CPPFLAGS) -I$(<D) -fPIC $(VISIBILITY) $(CFLAGS) $(EXTRA) -c $< -o $@
$(PLAIN)/obj/model/traces/chakra_et.o: $(CHAKRA_C)

$(TRACES_LIB): $(call object,$(TRACES_SRC)) $(PLAIN)/obj/gen/chakra.pb-c.o
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/libportolan-map.so: $(call object,$(SCOTCH_SRC)) $(LINK_STAMP)
	$(call link,$(CC) -shared,-Wl$(comma)--no-as-needed -lscotch -lscotcherr -lm)

$(TUNER_LIB): $(call object,$(TUNER_SRC)) $(LIB) $(LINK_STAMP)
	$(call link,$(CC) -shared -Wl$(comma)--exclude-libs$(comma)ALL,)

$(BUILD)/portolan: $(call object,$(TOOL_SRC) tuner/rules.c) $(FIT_LIB) $(TRACES_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(CC) $(OPENMP),$(TOOL_LDLIBS) $(LDLIBS))

$(BUILD)/obj/%.cu.o: %.cu Makefile $(NVCC_STAMP)
	@mkdir -p $(@D)
	$(call say,NVCC)
	$(Q)$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

# Uses the executor's device, so that calibration measures the code that runs plans.
$(BUILD)/portolan-calibrate: $(call object,$(CALIBRATE_SRC) $(PARALLEL_SRC)) $(COMMAND_LINE_LIB) $(TRACES_LIB) $(EXEC_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(MPICC),-lhwloc -lexpat $(MPI_LDLIBS))

$(call object,impl/device/devices.c): DEFINES += $(CUDA_DEFINE)
EXEC_OBJECTS := $(call object,$(IMPL_SRC) $(PROGRAM_SRC)) $(call cuda_object,impl)
$(BUILD)/libportolan-exec.a: $(EXEC_OBJECTS)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/libportolan-exec.so.$(VERSION): $(EXEC_OBJECTS) $(SHARED) $(LINK_STAMP)
	$(call link,$(CC) -shared -Wl$(comma)-soname$(comma)libportolan-exec.so.$(SOVERSION),$(EXEC_LDLIBS))

EXEC_MPI_OBJECTS := $(EXEC_OBJECTS) $(call object,$(IMPL_MPI_SRC))
$(BUILD)/libportolan-exec-mpi.a: $(EXEC_MPI_OBJECTS)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(BUILD)/libportolan-exec-mpi.so.$(VERSION): $(EXEC_MPI_OBJECTS) $(SHARED) $(LINK_STAMP)
	$(call link,$(MPICC) -shared -Wl$(comma)-soname$(comma)libportolan-exec-mpi.so.$(SOVERSION),$(EXEC_LDLIBS))

# These run inside other programs, which must not see functions of theirs. Any thread calls them, often.
IN_FRONT_OBJECTS := $(call object,$(PRELOAD_SRC) $(PROFILE_SRC) $(DROPIN_SRC))
$(IN_FRONT_OBJECTS): DEFINES := -D_GNU_SOURCE
$(IN_FRONT_OBJECTS): VISIBILITY := -fvisibility=hidden -ftls-model=initial-exec
# Inlined across files, a call takes a quarter fewer instructions.
IN_FRONT_LTO := $(shell echo 'int main(void) { return 0; }' | $(CC) -flto=auto -xc - -o /dev/null 2>/dev/null && echo -O3 -flto=auto)
$(IN_FRONT_OBJECTS): ALL_CFLAGS += $(IN_FRONT_LTO)
link_in_front = $(call link,$(MPICC) $(IN_FRONT_LTO) -shared -Wl$(comma)-soname$(comma)$(notdir $@) -Wl$(comma)--exclude-libs$(comma)ALL,$(1))
$(BUILD)/libportolan-profile.so: $(call object,$(PRELOAD_SRC) $(PROFILE_SRC)) $(LIB) $(LINK_STAMP)
	$(call link_in_front,-ldl -lpthread $(LDLIBS))

# It finds machine files as the programs do, but relative to its own path.
$(BUILD)/libportolan-mpi.so: $(call object,$(PRELOAD_SRC) $(DROPIN_SRC)) $(COMMAND_LINE_LIB) \
		$(EXEC_LIB) $(LIB) $(LINK_STAMP)
	$(call link_in_front,$(MPI_LDLIBS))

# The same in front of NCCL. Its own folder of machine files is found as the other one's.
$(NCCL_DROPIN_LIB): $(call object,$(NCCL_DROPIN_PARTS)) $(COMMAND_LINE_LIB) $(KERNEL_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(CC) $(IN_FRONT_LTO) -shared -Wl$(comma)-soname$(comma)$(notdir $@) -Wl$(comma)--exclude-libs$(comma)ALL,$(MPI_LDLIBS))

$(BUILD)/portolan-validate: $(call object,$(VALIDATE_SRC) $(PARALLEL_SRC) $(METER_SRC)) $(COMMAND_LINE_LIB) $(EXEC_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(MPICC) $(OPENMP),$(MPI_LDLIBS))

# --- tests ---------------------------------------------------------------------------------------------------

# What tests call, in two libraries that no one installs, since tests call what the others hide. Tests need not be
# linked again when the code changes.
INTERNAL_LIB := $(BUILD)/tests/libportolan-internal.so
INTERNAL_EXEC_LIB := $(if $(EXEC_LIB),$(BUILD)/tests/libportolan-exec-internal.so)
INTERNAL_SRC := $(METER_SRC) $(PROGRAM_SRC) $(ROW_FILE_SRC) $(UNIT_HELP_SRC) $(FIT_SRC) $(TRACES_SRC) $(LIB_SRC)
# $(call link_internal,COMPILER,LIBRARIES)
define link_internal
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -r -nostdlib $(filter %.o,$^) -o $(@:.so=.o) && python3 -B tools/export_hidden.py $(@:.so=.o) && \
		$(1) $(LINK_FLAGS) -shared -Wl,-Bsymbolic,-soname,$(@F),-rpath,'$$ORIGIN' $(@:.so=.o) $(2) -o $@
	$(Q)rm $(@:.so=.o)
endef
$(INTERNAL_LIB): $(call object,$(INTERNAL_SRC)) $(PLAIN)/obj/gen/chakra.pb-c.o $(TOOL_PARTS) tools/export_hidden.py $(LINK_STAMP)
	$(call link_internal,$(CC) $(OPENMP),$(TOOL_LDLIBS) $(LDLIBS))
$(INTERNAL_EXEC_LIB): $(filter-out $(call object,$(PROGRAM_SRC)),$(EXEC_MPI_OBJECTS)) tools/export_hidden.py $(LINK_STAMP) | $(INTERNAL_LIB)
	$(call link_internal,$(MPICC),$(INTERNAL_LIB) $(EXEC_LDLIBS))
# $(call link_test,COMPILER,LIBRARIES): a program beside these libraries. A name that they lack is an error at its start.
link_test = $(call link,$(1) -Wl$(comma)-z$(comma)now$(comma)-rpath$(comma)'$$ORIGIN',-Wl$(comma)--as-needed $(2))

# Has a main for the programs that have none.
TEST_LIB := $(PLAIN)/tests/libtest.a
$(TEST_LIB): $(call object,$(TEST_LIB_SRC))
	@mkdir -p $(@D)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(UNIT): $(BUILD)/tests/%: $(PLAIN)/obj/tests/unit/%.o $(TEST_LIB) $(LINK_STAMP) | $(INTERNAL_LIB) $(MAP_LIB) $(TUNER_LIB)
	$(call link_test,$(CC) $(OPENMP),$(INTERNAL_LIB) -lcmocka $(TOOL_LDLIBS) $(LDLIBS))

# The code of the kernels, compiled for the host.
$(UNIT_CXX): $(BUILD)/tests/%: tests/unit/%.cc $(wildcard impl/*/*.cuh impl/*.h impl/*/*.h) Makefile $(CXX_STAMP) $(LINK_STAMP) | $(INTERNAL_LIB)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -fPIC $(TEST_INCLUDES) $(DEPS_CPPFLAGS) -Wall -Wextra -Wno-unknown-pragmas -Wno-unused-parameter $(CFLAGS) $(EXTRA) \
		$(DEPS_LDFLAGS) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN' $< $(INTERNAL_LIB) -lcmocka $(LDLIBS) -o $@

# GNU's linker wants functions in place of others (__wrap_x) visible if a shared library calls the others.
$(call object,$(MPI_TEST_SRC) $(MADE_SRC)): VISIBILITY := -fvisibility=default

# What a test of tests/mpi is linked with besides these libraries (PARTS_test_x), and the functions that it takes the
# place of in these parts (WRAP_test_x).
IN_PARALLEL := $(filter-out $(ROW_FILE_SRC),$(PARALLEL_SRC))
CALIBRATION := $(filter-out calibrate/calibrate.c calibrate/node_topology.c,$(CALIBRATE_SRC)) $(IN_PARALLEL)
# The drop-in without the functions that it takes.
DROPIN_PARTS := tests/mpi/profile_memory.c $(filter-out dropin/intercept.c,$(DROPIN_SRC)) $(PRELOAD_SRC)
CASE_PARTS := tests/mpi/exec_case.c tests/mpi/exec_strategies.c validate/reference.c
PARTS_test_exec := $(EXEC_CASE_SRC) validate/reference.c
PARTS_test_nccl := $(PARTS_test_exec)
PARTS_test_profile := $(PROFILE_HELP_SRC) $(CASE_PARTS)
PARTS_test_stale := $(CASE_PARTS)
PARTS_test_streams := $(CASE_PARTS)
PARTS_test_resources := tests/mpi/exec_case.c validate/reference.c
PARTS_test_open := validate/reference.c
PARTS_test_reference := validate/reference.c
PARTS_test_dropin := $(DROPIN_HELP_SRC) tests/mpi/profile_memory.c calibrate/statistics.c
PARTS_test_contexts := $(DROPIN_PARTS)
PARTS_test_trials := $(DROPIN_PARTS)
PARTS_test_refused := $(DROPIN_PARTS)
PARTS_test_counters := validate/energy.c $(addprefix parallel/,agreement.c clock.c)
# With memory of the test's own.
PARTS_test_register := $(IMPL_SRC) $(wildcard impl/mpi/*.c)
WRAP_test_register := malloc calloc realloc free pto_vector_add
# With clocks that go on together, and with what its processes allocate.
PARTS_test_members := $(CALIBRATION) impl/device/device_host.c impl/nccl/nccl_cuda.c $(MEMBERS_SRC)
WRAP_test_members := now_s memcpy aligned_alloc pto_nccl_library $(addprefix together_,create destroy wait await) \
	$(addprefix pto_shared_,create open close destroy)
# With clocks that go on where the test says so, and what the engine tells meanwhile.
PARTS_test_engine := $(CALIBRATION) tests/mpi/made_clock.c
WRAP_test_engine := now_s rest sizes_record guard_timeout_s guard_step guard_tick $(addprefix progress_,wanted show clear)
PARTS_test_sizes := $(CALIBRATION) $(MADE_SRC)
WRAP_test_sizes := now_s rest
PARTS_test_fits := $(PARTS_test_sizes)
WRAP_test_fits := now_s rest
PARTS_test_replay := $(CALIBRATION) tests/mpi/made_clock.c
WRAP_test_replay := now_s rest
PARTS_test_statistics := $(addprefix calibrate/,statistics.c cases.c) $(addprefix parallel/,clock.c fatal.c guard.c)
# On machines of the test's own.
PARTS_test_job := $(CALIBRATION)
WRAP_test_job := $(addprefix topology_,create destroy sockets cores cpu_name own_socket gpu_socket) gpu_find gpu_select
# With libraries of the test's own.
PARTS_test_nvml := $(addprefix calibrate/,nvlink.c topology.c) $(addprefix parallel/,fatal.c guard.c)
WRAP_test_nvml := dlopen dlsym dlclose
# As if NCCL were there.
PARTS_test_cases := $(CALIBRATION)
WRAP_test_cases := pto_nccl_library
PARTS_test_patterns := $(addprefix validate/,pattern.c stencil2d.c global_sum.c)
WRAP_test_patterns := $(addprefix pto_exec_,follow run)
# With a clock, an executor and a counter of the test's own.
PARTS_test_measure := $(addprefix validate/,measure.c start.c energy.c) $(IN_PARALLEL)
WRAP_test_measure := now_s sched_yield start_late_s $(addprefix pto_exec_,create destroy run queue wait enqueue choices)
PARTS_test_report := $(filter-out validate/validate.c,$(VALIDATE_SRC)) $(IN_PARALLEL)
PARTS_test_powers := $(addprefix validate/,powers.c energy.c) $(IN_PARALLEL)
WRAP_test_powers := now_s MPI_Iprobe nanosleep
PARTS_test_start := validate/start.c $(addprefix parallel/,barrier.c clock.c fatal.c guard.c)
WRAP_test_start := now_s MPI_Send MPI_Recv MPI_Allreduce MPI_Barrier MPI_Comm_split_type sched_yield
PARTS_test_guard := $(addprefix parallel/,fatal.c guard.c)
PARTS_test_parallel := $(IN_PARALLEL)

# These link no MPI.
WITHOUT_MPI := $(addprefix $(BUILD)/tests/,test_teams test_nccl_dropin test_nccl_comms test_nccl_messages example_forked)
MPI_TEST_PROGRAMS := $(filter-out $(WITHOUT_MPI) $(BUILD)/tests/test_both,$(patsubst tests/mpi/%.c,$(BUILD)/tests/%,$(MPI_TEST_SRC)))
$(foreach test,$(notdir $(MPI_TEST_PROGRAMS)),$(eval $(BUILD)/tests/$(test): $(call object,$(PARTS_$(test)))))
$(MPI_TEST_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/obj/tests/mpi/%.o $(TEST_LIB) $(LINK_STAMP) | $(INTERNAL_EXEC_LIB)
	$(call link_test,$(MPICC) $(OPENMP) $(WRAP_$*:%=-Wl$(comma)--wrap=%),$(INTERNAL_EXEC_LIB) $(INTERNAL_LIB) -lcmocka -lhwloc $(MPI_LDLIBS))
$(BUILD)/tests/test_nccl: | $(BUILD)/tests/fake/libnccl.so.2

$(BUILD)/tests/example_forked: $(BUILD)/obj/docs/examples/forked.o $(KERNEL_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(CC),$(MPI_LDLIBS))
$(BUILD)/tests/test_teams: $(BUILD)/obj/tests/mpi/test_teams.o $(KERNEL_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(CC),$(MPI_LDLIBS))
# The drop-in for NCCL in front of a small NCCL of the test's own.
$(addprefix $(BUILD)/tests/,test_nccl_dropin test_nccl_comms test_nccl_messages): $(BUILD)/tests/%: $(BUILD)/obj/tests/mpi/%.o $(call object,$(NCCL_HELP_SRC) $(NCCL_DROPIN_PARTS)) \
		$(COMMAND_LINE_LIB) $(KERNEL_LIB) $(LIB) $(BUILD)/tests/fake_forked/libnccl.so.2 $(LINK_STAMP)
	$(call link,$(CC) $(IN_FRONT_LTO) -rdynamic -Wl$(comma)-rpath$(comma)'$$ORIGIN/fake_forked',$(MPI_LDLIBS))
# With neither, so that both may be preloaded.
$(BUILD)/tests/test_both: $(call object,tests/mpi/test_both.c $(NCCL_HELP_SRC)) $(BUILD)/tests/fake_forked/libnccl.so.2 $(LINK_STAMP)
	$(call link,$(MPICC) -Wl$(comma)-rpath$(comma)'$$ORIGIN/fake_forked',$(MPI_LDLIBS))
$(BUILD)/tests/fake_forked/libnccl.so.2: $(call object,tests/mpi/fake_nccl_forked.c) $(KERNEL_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(CC) -shared -Wl$(comma)-soname$(comma)$(@F) -Wl$(comma)--exclude-libs$(comma)ALL,$(MPI_LDLIBS))

$(BUILD)/tests/example_%: $(BUILD)/obj/docs/examples/%.o $(LINK_STAMP) | $(INTERNAL_EXEC_LIB)
	$(call link_test,$(MPICC),$(INTERNAL_EXEC_LIB) $(INTERNAL_LIB) $(MPI_LDLIBS))

# What `tests/cluster/cluster up --delay` needs, and programs that run there.
$(call object,$(CLUSTER_SRC)): DEFINES := -D_GNU_SOURCE
$(BUILD)/tests/relay: $(call object,tests/cluster/relay.c) $(LINK_STAMP)
	$(call link,$(CC))
$(call object,tests/cluster/sleeper.c): VISIBILITY := -fvisibility=default
$(BUILD)/tests/sleeper.so: $(call object,tests/cluster/sleeper.c) $(LINK_STAMP)
	$(call link,$(CC) -shared)

# A test loads these instead of NCCL, of NVML, of CUDA's driver, of the kernel's energy counters and of its CPUs.
$(BUILD)/obj/tests/mpi/fake_%.o: VISIBILITY := -fvisibility=default
$(BUILD)/obj/tests/mpi/fake_ucp.o: DEFINES := -D_GNU_SOURCE
FAKES := $(addprefix $(BUILD)/tests/,fake/libcpus.so fake/librapl.so fake/libucp.so fake/libnccl.so.2 fake_nvml/libnvidia-ml.so.1 fake_cuda/libcuda.so.1)
$(BUILD)/tests/fake/libcpus.so: $(call object,tests/mpi/fake_cpus.c)
$(BUILD)/tests/fake/librapl.so: $(call object,tests/mpi/fake_rapl.c)
$(BUILD)/tests/fake/libucp.so: $(call object,tests/mpi/fake_ucp.c)
$(BUILD)/tests/fake/libnccl.so.2: $(call object,tests/mpi/fake_nccl.c)
$(BUILD)/tests/fake_nvml/libnvidia-ml.so.1: $(call object,tests/mpi/fake_nvml.c)
$(BUILD)/tests/fake_cuda/libcuda.so.1: $(call object,tests/mpi/fake_cuda.c)
$(FAKES): $(LINK_STAMP)
	$(call link,$(MPICC) -shared -Wl$(comma)-soname$(comma)$(@F),-Wl$(comma)--as-needed -ldl)

# The drop-in, with wrong results on purpose: its tests must notice.
WRONG := pto_exec_create_in pto_exec_rebind_private pto_exec_run
$(BUILD)/tests/wrong/libportolan-mpi.so: $(call object,tests/mpi/fake_results.c $(PRELOAD_SRC) $(DROPIN_SRC)) \
		$(COMMAND_LINE_LIB) $(EXEC_LIB) $(LIB) $(LINK_STAMP)
	$(call link_in_front,$(addprefix -Wl$(comma)--wrap=,$(WRONG)) $(MPI_LDLIBS))

WRAP_fuzz_exports := pto_text_read
WRAP_fuzz_topology_xml := pto_text_read
$(FUZZ): $(BUILD)/fuzzers/%: $(PLAIN)/obj/tests/fuzz/%.o $(TOOL_PARTS) $(FIT_LIB) $(TRACES_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(CC) $(OPENMP) -fsanitize=fuzzer $(WRAP_$*:%=-Wl$(comma)--wrap=%),$(TOOL_LDLIBS) $(LDLIBS))

$(BENCH): $(BUILD)/bench/%: $(PLAIN)/obj/tests/bench/%.o $(TOOL_PARTS) $(FIT_LIB) $(TRACES_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(CC) $(OPENMP),$(TOOL_LDLIBS) $(LDLIBS))

$(filter-out %/bench_agree %/bench_first_call,$(MPI_BENCH)): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(call object,tests/mpi/profile_memory.c) $(EXEC_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(MPICC),$(MPI_LDLIBS))

$(BUILD)/bench/bench_create: $(call object,tests/bench/one_of_many.c)

$(BUILD)/bench/bench_agree: $(call object,tests/bench/bench_agree.c dropin/agree.c) $(EXEC_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(MPICC),$(MPI_LDLIBS))

# The drop-in without the functions that it takes.
$(BUILD)/bench/bench_first_call: $(call object,tests/bench/bench_first_call.c tests/bench/one_of_many.c $(filter-out dropin/intercept.c,$(DROPIN_SRC)) \
		$(PRELOAD_SRC)) $(COMMAND_LINE_LIB) $(EXEC_LIB) $(LIB) $(LINK_STAMP)
	$(call link,$(MPICC),$(MPI_LDLIBS))

$(BUILD)/bench/smpi_alltoall: tests/bench/smpi_alltoall.c
	@mkdir -p $(@D)
	$(call say,SMPICC)
	$(Q)smpicc -O2 $< -o $@

-include $(patsubst %.o,%.d,$(call object,$(ALL_C))) $(patsubst %,$(BUILD)/obj/%.d,$(CUDA_SRC))

# --- for newcomers -------------------------------------------------------------------------------------------

# JOBS compilers at a time where the command line has no -j.
MAKE_PARALLEL = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: demo
demo: ## install build dependencies (after announcing it), build the tool, and answer the README's two questions
	@tools/deps.sh install "$(DEPS)" build
	@$(MAKE_PARALLEL) $(BUILD)/portolan
	$(BUILD)/portolan pick $(DEMO)
	$(BUILD)/portolan predict $(DEMO) --bytes 1KiB --strategy three_step,cuda_aware --explain
demo: DEMO := scenarios/problems/alltoall-summit-measured.yaml

# The exhaustive tests (those that include sample.h) run every TEST_SAMPLE-th case. A prime number does not keep step with
# the tables that the cases come from.
TEST_SAMPLE ?= 13
.PHONY: test test-all
test: | $(filter deps deps-all,$(MAKECMDGOALS))
test: ## build and run the unit, golden and header tests and compare prices with the oracle's, JOBS at a time
	@tools/deps.sh check "$(DEPS)" build test
	@$(MAKE_PARALLEL) $(TOOL) $(SHARED_LIBRARIES) unit-programs
	@$(TEST) unit golden cases accuracy headers oracle schema

test-all: TEST_SAMPLE := 1
test-all: test ## the same with every case of the exhaustive tests

.PHONY: deps
deps: ## install what `make` and `make test` need (apt-get as root or through sudo)
	@tools/deps.sh install "$(DEPS)" build test

.PHONY: deps-all
deps-all: ## install what all targets need: also Open MPI, linters, SCOTCH and a browser
	@tools/deps.sh install "$(DEPS)" build test check mpi map page wheel

# --- single checks -------------------------------------------------------------------------------------------

TEST = TEST_SAMPLE=$(TEST_SAMPLE) BUILD=$(BUILD) CC=$(CC) CXX=$(CXX) JOBS=$(JOBS) tools/test.sh
.PHONY: unit-programs check-unit check-golden check-headers check-oracle golden-update
unit-programs: $(UNIT) $(UNIT_CXX)

check-unit: $(UNIT) $(UNIT_CXX) $(TOOL) ## run the unit tests only
	@$(TEST) unit

check-golden: $(TOOL) $(SHARED) ## compare the output of commands with tests/golden and the documents
	@$(TEST) golden

check-headers: $(LIB) $(FIT_LIB) $(TRACES_LIB) ## compile every public header on its own, as C11 and as C++17
	@$(TEST) headers

check-oracle: $(TOOL) ## compare ORACLE_CASES (100) random prices with those of tests/oracle, which shares no code
	@$(TEST) oracle

golden-update: $(TOOL) $(SHARED) ## rewrite tests/golden/*.out with the current output; read the diff
	@$(TEST) golden-update

.PHONY: check-mpi check-cluster check-gpu
# Much of their time is spent in waiting, so two run at a time: they share nothing but the machine. The longest start
# first. Alone are those that fit what they measure, and MPICH's, whose processes never yield their cores.
MPI_JOBS ?= 2
MPI_ALONE := $(patsubst %,tests/mpi/test_%.sh,gpu_suite host_data mpich export_mpich)
MPI_LONGEST := $(patsubst %,tests/mpi/test_%.sh,exec faults validate)
# What reads topologies with portolan-calibrate is skipped by `make test`, which does not build it.
MPI_TOGETHER := $(MPI_LONGEST) $(filter-out $(MPI_LONGEST) $(MPI_ALONE),$(wildcard tests/mpi/test_*.sh)) tests/cases.sh
# MPI_LAST=: without those that run alone.
MPI_LAST ?= $(MPI_ALONE)
check-mpi: build $(MPI_TESTS) ## run the MPI programs' tests under mpirun on this machine, MPI_JOBS at a time
	@tools/each.sh mpi $(MPI_JOBS) 'BUILD=$(BUILD) "$$1" || [ $$? = 77 ]' $(MPI_TOGETHER) -- $(MPI_LAST)

.PHONY: nightly
nightly: ## all that .ci/run leaves out, or samples (docs/decisions/0044-what-ci-leaves-out.md); takes hours
	@.ci/run nightly

# Folders that are built and tested apart, each explained in its README.md: make traces, make check-traces.
PACKAGES := profile traces map report tuner
BUILDS_profile := $(PROFILE_LIB)
BUILDS_traces := $(TRACES_LIB)
BUILDS_map := $(call object,$(wildcard model/src/map/*.c)) $(MAP_LIB)
BUILDS_report := $(call object,$(wildcard model/report/*.c))
BUILDS_tuner := $(TUNER_LIB)
CHECKS_profile := tests/mpi/test_profile.sh
CHECKS_traces := $(addprefix $(BUILD)/tests/test_,delays logs recording traces)
CHECKS_map := $(addprefix $(BUILD)/tests/test_,map map_choice map_optimum mappers scotch)
CHECKS_tuner := $(BUILD)/tests/test_tuner
CHECKED := profile traces map tuner
.PHONY: $(PACKAGES) $(CHECKED:%=check-%)
$(foreach package,$(PACKAGES),$(eval $(package): $(BUILDS_$(package))))
$(foreach package,$(CHECKED),$(eval check-$(package): $(package) $(filter $(BUILD)/%,$(CHECKS_$(package)))))
check-profile: $(TOOL) $(addprefix $(BUILD)/tests/,test_profile example_particles fake_cuda/libcuda.so.1)
$(CHECKED:%=check-%): check-%:
	@tools/each.sh $* $(JOBS) 'BUILD=$(BUILD) "$$1" || [ $$? = 77 ]' $(CHECKS_$*)

# Each test reports itself why it was skipped.
CLUSTER_TESTS := $(wildcard tests/cluster/test_*.sh)
check-cluster: $(MPI_PROGRAMS) $(MPI_TESTS) $(PRELOADED) $(TOOL) $(BUILD)/tests/relay $(BUILD)/tests/sleeper.so ## the same on a cluster of network namespaces (needs root and iproute2; else skipped)
	@passed=0; failed=0; for test in $(CLUSTER_TESTS); do \
		BUILD=$(BUILD) "$$test"; \
		case $$? in 0) passed=$$((passed + 1)) ;; 77) ;; *) failed=$$((failed + 1)) ;; esac; \
	done; echo "cluster: $$passed passed, $$failed failed"; [ $$failed = 0 ]

.PHONY: check-report
check-report: $(TOOL) ## compare pages of `portolan report` with the program's numbers in Chromium (without it: skipped)
	@python3 -B tests/report/test_report.py $(TOOL) || [ $$? = 77 ]

.PHONY: check-refits
check-refits: $(TOOL) ## fit the machine files of Summit and Lassen again and compare (without their samples: skipped, exit 77)
	@BUILD=$(BUILD) tests/refits.sh

check-gpu: ## the same and more on this machine's GPUs (without a GPU: skipped, exit 77)
	@BUILD=$(BUILD) tests/gpu/check_gpu.sh

# Its variables (OUT, NAME, LIMIT, DEVICE, GPUS and others) are documented in the script and in docs/calibrating.md.
.PHONY: gpu-suite
gpu-suite: ## build, check, calibrate, validate, export results; resumable: OUT= NAME= LIMIT= DEVICE=host
	@BUILD=$(BUILD) tests/gpu/suite.sh

# The executor's bench runs on the host device unless told otherwise: make bench BENCH_DEVICE=cuda.
BENCH_DEVICE ?= host
BENCH_MPIRUN ?= mpirun -n 2 --oversubscribe
BENCH_SHORT ?=
# What is preloaded: on one process and on two.
PASSED_ON := env LD_PRELOAD=$(abspath $(DROPIN_LIB)) PORTOLAN_DEVICE=host PORTOLAN_MACHINE=h200-x2 $(BUILD)/bench/bench_dropin
PASSED_ON_HOST := env LD_PRELOAD=$(abspath $(DROPIN_LIB)) PORTOLAN_MACHINE=h200-x2 $(BUILD)/bench/bench_dropin
PROFILED := env LD_PRELOAD=$(abspath $(PROFILE_LIB)) PORTOLAN_PROFILE=$(BUILD)/bench/ $(BUILD)/bench/bench_profile
.PHONY: accuracy
accuracy: $(TOOL) ## print how far predictions hold on cells that nothing was fitted to (docs/accuracy.md)
	@BUILD=$(BUILD) tools/accuracy.sh

.PHONY: bench
bench: $(PRELOADED) $(TOOL) $(BENCH) $(MPI_BENCH) $(SMPI_BENCH) ## run the benchmarks; BENCH_SHORT=1: only check their results, in seconds
	@passed=0; failed=0; \
	export BENCH_SHORT=$(BENCH_SHORT) PORTOLAN=$(BUILD)/portolan SMPI_ALLTOALL=$(SMPI_BENCH) \
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; \
	for program in $(BENCH) tests/bench/bench_scotch.sh $(if $(MPI_BENCH),'$(BENCH_MPIRUN) $(BUILD)/bench/bench_exec $(BENCH_DEVICE)' \
		'mpirun -n 1 $(BUILD)/bench/bench_create' 'mpirun -n 1 $(BUILD)/bench/bench_first_call' '$(BENCH_MPIRUN) $(BUILD)/bench/bench_agree' \
		'mpirun -n 1 $(PROFILED)' '$(BENCH_MPIRUN) $(PROFILED)' \
		'$(BENCH_MPIRUN) $(PASSED_ON)' '$(BENCH_MPIRUN) $(PASSED_ON_HOST)'); do \
		if $$program; then passed=$$((passed + 1)); else failed=$$((failed + 1)); fi; \
	done; echo "bench: $$passed passed, $$failed failed"; [ $$failed = 0 ]

.PHONY: python wheel check-python
python: ## write the Python module's declarations from the public headers
	@CC=$(CC) $(PYTHON) -B tools/python_declarations.py

wheel: ## build the Python module's wheel in build/ (needs python3-setuptools and python3-wheel)
	@mkdir -p $(BUILD) && rm -rf $(BUILD)/wheel && cp -r python $(BUILD)/wheel
	@cd $(BUILD)/wheel && $(PYTHON) -B -c "from setuptools import build_meta; build_meta.build_wheel('..')"

check-python: $(SHARED) $(FIT_SHARED) $(EXEC_SHARED) $(TOOL) ## the Python module's tests alone
	@CC=$(CC) $(PYTHON) -B tests/python.py $(TOOL)

.PHONY: figures
figures: $(TOOL) ## redraw docs/figures (needs gnuplot)
	@BUILD=$(BUILD) tools/figures.sh docs/figures

.PHONY: man
man: $(TOOL) ## rewrite the options in the man pages from the option tables
	@for page in $(MAN_PAGES); do \
		awk -v command="$(BUILD)/portolan completion man $$(basename $$page .1)" ' \
			/^\.\\" options:/ { print; while ((command | getline line) > 0) print line; inside = 1 } \
			/^\.\\" end of options/ { inside = 0 } \
			!inside' $$page > $(BUILD)/page.1 && mv $(BUILD)/page.1 $$page || exit 1; \
	done

# The sanitizers make each test at least ten times as long. SANITIZE_SAMPLE=1: all cases here, too.
SANITIZE_SAMPLE ?= 29
# Linking with sanitizers takes three times as long with GNU's linker.
SANITIZED_LDFLAGS = $(LDFLAGS) $(shell command -v ld.lld >/dev/null && echo -fuse-ld=lld)
.PHONY: sanitize check-sanitized
sanitize: ## run the unit tests, the executor on the host device and what judges under AddressSanitizer and UBSan
	@OMPI_CC=clang MPICH_CC=clang $(MAKE) --no-print-directory BUILD=$(BUILD)/sanitize CC=clang NVCC=none \
		CFLAGS='-O1 -g1 -fno-omit-frame-pointer' LDFLAGS='$(SANITIZED_LDFLAGS)' \
		EXTRA='-fsanitize=address$(comma)undefined -fno-sanitize-recover=all' check-sanitized

JUDGES := reference patterns cases statistics members sizes measure powers nvml host_device
check-sanitized: TEST_SAMPLE := $(SANITIZE_SAMPLE)
check-sanitized: $(UNIT) $(UNIT_CXX) $(if $(HAVE_MPI),$(BUILD)/tests/test_exec $(BUILD)/tests/test_nccl_dropin $(BUILD)/tests/test_nccl_comms $(BUILD)/tests/test_nccl_messages $(JUDGES:%=$(BUILD)/tests/test_%))
	@JUDGES="$(JUDGES)" $(TEST) unit $(if $(HAVE_MPI),exec judges)

.PHONY: fuzz fuzz-run fuzz-commands
fuzz: fuzz-commands ## run each libFuzzer target, and random commands, for FUZZ_SECONDS (30)
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=clang CFLAGS='-O1 -g1' LDFLAGS='$(SANITIZED_LDFLAGS)' \
		EXTRA='-fsanitize=fuzzer-no-link$(comma)address$(comma)undefined -fno-sanitize-recover=all' fuzz-run

# FUZZ_TOOL may be built with sanitizers: FUZZ_SANITIZED=1 FUZZ_TOOL=build/sanitize/portolan.
FUZZ_TOOL ?= $(TOOL)
fuzz-commands: $(FUZZ_TOOL)
	python3 -B tests/fuzz/commands.py $(FUZZ_TOOL) $(FUZZ_SECONDS) $(FUZZ_SEED)

# fuzz_X starts from tests/fuzz/corpus/X and stores new inputs in the build folder.
fuzz-run: $(FUZZ)
	@tools/each.sh fuzz 2 'name=$${1##*/fuzz_}; corpus=$(BUILD)/corpus/$$name; seeds=tests/fuzz/corpus/$$name; \
		mkdir -p "$$corpus"; [ -d "$$seeds" ] || seeds=; \
		"$$1" -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -verbosity=0 -close_fd_mask=1 \
		-artifact_prefix=$(BUILD)/ "$$corpus" $$seeds' $(FUZZ)

# What the tests do not notice: AREA is one of those that tools/mutants.py lists.
AREA ?= model
MUTANTS ?= 60
PLANS ?= 200
.PHONY: mutants mutated-plans soak
mutants: ## break MUTANTS (60) random places of AREA (model), each alone, and run the tests that execute them
	@BUILD=$(BUILD) python3 -B tools/mutants.py $(AREA) $(MUTANTS) $(MUTANTS_SEED)

mutated-plans: $(TOOL) $(BUILD)/tests/test_exec $(BUILD)/tests/test_stale ## break PLANS (200) strategies and algorithms: check or a run must notice
	@BUILD=$(BUILD) OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 python3 -B tools/mutated_plans.py $(PLANS) $(MUTANTS_SEED)

# SOAK: percent of its whole length. All of the sanitizers' cases run only in the whole.
SOAK ?= 100
soak: ## the random tests of all kinds, for hours (docs/reliability.md); SOAK=5 is a twentieth of that
	@$(MAKE) --no-print-directory check-oracle ORACLE_CASES=$$((100 * $(SOAK))) ORACLE_SEED=$$(date +%s)
	@$(MAKE) --no-print-directory sanitize $(if $(filter 100,$(SOAK)),SANITIZE_SAMPLE=1)
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$$((36 * $(SOAK)))
	@$(MAKE) --no-print-directory mutated-plans PLANS=$$((2 * $(SOAK)))
	@CREATIONS=$$((50 * $(SOAK))) BUILD=$(BUILD) tests/mpi/test_resources.sh
	@STOPS=$(SOAK) BUILD=$(BUILD) tests/mpi/test_faults.sh
	@for area in model strategies fit impl calibrate validate parallel; do \
		$(MAKE) --no-print-directory mutants AREA=$$area MUTANTS=$(SOAK) || exit 1; \
	done

.PHONY: format
format: ## format every C file in place
	clang-format -i $(FORMATTED)

.PHONY: format-check
format-check: ## fail if clang-format would change a file
	@tools/each.sh format $(JOBS) 'clang-format --dry-run --Werror "$$1"' $(FORMATTED)

# Nearly all of the time goes to clang's static analyzer. LINT_NODES limits the states that it explores in one
# function; 225000 is its own limit. LINT_SINCE=COMMIT: only the files that differ from that commit, and those whose
# own header does. Without such a commit, as in a shallow clone, all.
LINT_NODES ?= 225000
LINT_SINCE ?=
LINT_CHANGED = $(if $(LINT_SINCE),$(shell git rev-parse --quiet --verify $(LINT_SINCE)^{commit} >/dev/null && { echo .; git diff --name-only $(LINT_SINCE); }))
LINTED = $(if $(LINT_CHANGED),$(filter $(LINT_CHANGED:.h=.c),$(ALL_C)),$(ALL_C))
# cppcheck 2.10 cannot parse a compound literal in a conditional and reports internalAstError.
.PHONY: lint
lint: $(CHAKRA_C) ## clang-tidy and cppcheck; both must be clean. tools/closes.py: closing a file is looked at
	@tools/closes.py
	@tools/each.sh lint $(JOBS) 'clang-tidy --quiet "$$1" -- -std=c11 $(subst ','\'',$(DEFINES)) $(TEST_INCLUDES) \
		$(DEPS_CPPFLAGS) $(if $(MPI_SRC),$(MPI_CPPFLAGS)) $$(case "$$1" in profile/*|preload/*|dropin/*) echo -D_GNU_SOURCE ;; esac) \
		-Xclang -analyzer-config -Xclang max-nodes=$(LINT_NODES) 2>/dev/null && \
		cppcheck --quiet --std=c11 --enable=warning$(comma)performance$(comma)portability --inline-suppr \
		--suppress=internalAstError \
		--error-exitcode=1 $(LIB_INCLUDES) -Imodel -Imodel/tool -Ipreload -Iprofile -Idropin "$$1"' $(LINTED)

# --- install, clean, help ------------------------------------------------------------------------------------

# The installed files below DESTDIR, which are exactly what `uninstall` removes.
BIN_AT := $(DESTDIR)$(PREFIX)/bin
LIB_AT := $(DESTDIR)$(LIBDIR)
HEADERS_AT := $(DESTDIR)$(PREFIX)/include/portolan
MAN_AT := $(DESTDIR)$(PREFIX)/share/man
DATA_AT := $(DESTDIR)$(PREFIX)/share/portolan
HOW_TO_AT := $(DESTDIR)$(PREFIX)/share/doc/portolan/how-to
BASH_AT := $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_AT := $(DESTDIR)$(PREFIX)/share/zsh/site-functions
PROGRAMS := $(TOOL) $(MPI_PROGRAMS)
ARCHIVES := $(LIB) $(KERNEL_LIB) $(EXEC_LIB)
SHARED_LIBRARIES := $(SHARED) $(FIT_SHARED) $(EXEC_SHARED)
PC_FILES := portolan.pc $(if $(KERNEL_LIB),portolan-exec.pc) $(if $(EXEC_LIB),portolan-exec-mpi.pc)
HEADERS := $(wildcard model/include/portolan/*.h) $(filter-out $(if $(EXEC_LIB),,%/exec_mpi.h),$(wildcard impl/include/portolan/*.h))
# With options from the tables; and those of libraries, in sections 3 and 7.
MAN_PAGES := $(wildcard docs/man/*.1)
LIBRARY_PAGES := $(wildcard docs/man/*.[37])
MAN_FILES := $(foreach page,$(notdir $(MAN_PAGES) $(LIBRARY_PAGES)),$(MAN_AT)/man$(subst .,,$(suffix $(page)))/$(page))
MACHINES := $(wildcard scenarios/machines/*.yaml)
TOPOLOGIES := $(wildcard scenarios/topologies/*.yaml)
PROBLEMS := $(wildcard scenarios/problems/*.yaml)
WORKLOADS := $(wildcard scenarios/workloads/*.yaml)
# Their commands run in their own folder, which has the files that they read; of other pages they name the source.
HOW_TOS := $(wildcard docs/how-to/*.md)
HOW_TO_FILES := validate/results/netns-rules/rules.conf tests/fixtures/upgrades.yaml tests/fixtures/traces/nccl-inspector.jsonl
AS_INSTALLED := $(foreach file,$(HOW_TO_FILES),-e 's|$(file)|$(notdir $(file))|g') -e 's|build/portolan|portolan|g' \
	-e 's|scenarios/workloads/\([a-z0-9-]*\)\.yaml|\1|g' -e 's|\[[a-z-]*\.md\](\.\./\([^)\#]*\)[^)]*)|docs/\1 of the sources|g' \
	-e 's|\[\([^]]*\)\](\.\./\([^)\#]*\)[^)]*)|\1 (docs/\2 of the sources)|g'
# MPICH's own, with its license.
MPICH_FILES := $(wildcard scenarios/libraries/mpich-4.0/*)
MPI_LIBRARIES := $(wildcard scenarios/libraries/*.yaml)
# libX.so.VERSION and the two links to it.
SO_NAMES := $(foreach name,$(notdir $(SHARED_LIBRARIES)),$(name) $(name:.$(VERSION)=.$(SOVERSION)) $(name:.$(VERSION)=))

$(BUILD)/%.pc: %.pc.in $(call stamp,pc,$(PREFIX) $(LIBDIR) $(VERSION) $(MPICC) $(EXEC_LDLIBS))
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
		-e 's|@VERSION@|$(VERSION)|' -e 's|@MPICC@|$(MPICC)|' -e 's|@LIBS@|$(EXEC_LDLIBS)|' -e 's|@OPENMP@|$(OPENMP)|' $< >$@

.PHONY: install
install: build $(addprefix $(BUILD)/,$(PC_FILES)) ## install everything but the sources (PREFIX, LIBDIR, DESTDIR)
	install -d $(BIN_AT) $(LIB_AT)/pkgconfig $(HEADERS_AT) $(sort $(dir $(MAN_FILES))) $(DATA_AT)/machines $(DATA_AT)/topologies $(DATA_AT)/libraries/mpich-4.0 \
		$(DATA_AT)/problems $(DATA_AT)/workloads $(HOW_TO_AT) $(BASH_AT) $(ZSH_AT)
	install -m 755 $(PROGRAMS) $(BIN_AT)
	install -m 644 $(ARCHIVES) $(LIB_AT)
	install -m 755 $(SHARED_LIBRARIES) $(MAP_LIB) $(TUNER_LIB) $(PRELOADED) $(LIB_AT)
	@for name in $(notdir $(SHARED_LIBRARIES:.$(VERSION)=)); do \
		ln -sf $$name.$(VERSION) $(LIB_AT)/$$name.$(SOVERSION) && ln -sf $$name.$(SOVERSION) $(LIB_AT)/$$name || exit 1; \
	done
	install -m 644 $(addprefix $(BUILD)/,$(PC_FILES)) $(LIB_AT)/pkgconfig
	install -m 644 $(HEADERS) $(HEADERS_AT)
	@for page in $(MAN_PAGES) $(LIBRARY_PAGES); do \
		install -m 644 $$page $(MAN_AT)/man$${page##*.}/ || exit 1; \
	done
	install -m 644 $(MACHINES) $(DATA_AT)/machines
	install -m 644 $(TOPOLOGIES) $(DATA_AT)/topologies
	install -m 644 $(MPI_LIBRARIES) $(DATA_AT)/libraries
	install -m 644 $(MPICH_FILES) $(DATA_AT)/libraries/mpich-4.0
	install -m 644 $(PROBLEMS) $(DATA_AT)/problems
	install -m 644 $(WORKLOADS) $(DATA_AT)/workloads
	@for page in $(HOW_TOS); do sed $(AS_INSTALLED) $$page >$(HOW_TO_AT)/$${page##*/} || exit 1; done
	install -m 644 $(HOW_TO_FILES) $(HOW_TO_AT)
	$(TOOL) completion zsh >$(ZSH_AT)/_portolan
	@for name in $(notdir $(PROGRAMS)); do $(TOOL) completion bash >$(BASH_AT)/$$name || exit 1; done

.PHONY: uninstall
uninstall: ## remove what `make install` installed with the same variables
	rm -f $(addprefix $(BIN_AT)/,$(notdir $(PROGRAMS))) $(addprefix $(LIB_AT)/,$(notdir $(ARCHIVES) $(MAP_LIB) $(TUNER_LIB) $(PRELOADED)) $(SO_NAMES)) \
		$(addprefix $(LIB_AT)/pkgconfig/,$(PC_FILES)) $(addprefix $(HEADERS_AT)/,$(notdir $(HEADERS))) \
		$(MAN_FILES) $(addprefix $(DATA_AT)/machines/,$(notdir $(MACHINES))) \
		$(addprefix $(DATA_AT)/topologies/,$(notdir $(TOPOLOGIES))) $(addprefix $(DATA_AT)/libraries/,$(notdir $(MPI_LIBRARIES))) $(addprefix $(DATA_AT)/libraries/mpich-4.0/,$(notdir $(MPICH_FILES))) \
		$(addprefix $(DATA_AT)/problems/,$(notdir $(PROBLEMS))) $(addprefix $(DATA_AT)/workloads/,$(notdir $(WORKLOADS))) \
		$(addprefix $(HOW_TO_AT)/,$(notdir $(HOW_TOS) $(HOW_TO_FILES))) $(addprefix $(BASH_AT)/,$(notdir $(PROGRAMS))) $(ZSH_AT)/_portolan
	-rmdir $(HOW_TO_AT) $(dir $(HOW_TO_AT)) $(HEADERS_AT) $(DATA_AT)/problems $(DATA_AT)/workloads $(DATA_AT)/machines $(DATA_AT)/topologies $(DATA_AT)/libraries/mpich-4.0 $(DATA_AT)/libraries $(DATA_AT)

DIST := portolan-$(VERSION)
.PHONY: dist
dist: ## archive the sources of the last commit: build/portolan-VERSION.tar.gz
	@mkdir -p $(BUILD)
	git archive --format=tar.gz --prefix=$(DIST)/ -o $(BUILD)/$(DIST).tar.gz HEAD

.PHONY: compile_commands.json
compile_commands.json: ## write the compilation database for clangd and other tools
	@tools/compile_commands.sh '$(CC) $(subst ','\'',$(ALL_CFLAGS))' $(PLAIN_SRC) >$@
	@tools/compile_commands.sh --more $@ '$(CC) $(subst ','\'',$(MPI_CPPFLAGS) $(ALL_CFLAGS) $(CUDA_DEFINE))' $(MPI_SRC)

.PHONY: hooks
hooks: ## install the git hooks that check commits and their subjects
	@hooks=$$(git rev-parse --git-path hooks) && mkdir -p "$$hooks" && for hook in pre-commit commit-msg; do \
		printf '#!/bin/sh\nexec "$$(git rev-parse --show-toplevel)/tools/%s" "$$@"\n' $$hook >"$$hooks/$$hook" && \
		chmod +x "$$hooks/$$hook" && echo "wrote $$hooks/$$hook" || exit 1; \
	done

.PHONY: clean
clean: ## remove all build results
	rm -rf $(BUILD)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z_.-]+:.*## / { printf "  %-21s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  packages: $(PACKAGES): \`make traces\` builds one alone, \`make check-traces\` tests it"
	@echo "  variables: PREFIX LIBDIR DESTDIR BUILD PLAIN CC MPICC CFLAGS CUDA_ARCH=\"80 90\" DEPS=DIR FUZZ_SECONDS JOBS V=1"
	@echo "  of gpu-suite: OUT NAME LIMIT DEVICE GPUS BUDGET COLLECTIVES BYTES CORES REPEATS CASES RACE QUEUED MACHINE AT DEPS OPENMPI"
