/* Energy counters: RAPL from a folder that replaces the kernel's, NVML from functions that replace the
 * library's. */
#include <sys/stat.h>

#include "files.h"
#include "meter.h"
#include "test.h"

/* --- RAPL ----------------------------------------------------------------------------------------------- */

static void put_text(const char *zone, const char *file, const char *text) {
    char name[64];
    mkdir(in_folder(zone), 0777);
    snprintf(name, sizeof name, "%s/%s", zone, file);
    write_text(in_folder(name), text);
}

static void put_zone(const char *zone, const char *name, const char *energy_uj) {
    put_text(zone, "name", name);
    put_text(zone, "max_energy_range_uj", "1000000000\n");
    put_text(zone, "energy_uj", energy_uj);
}

static void *must_meter(const meter_source_t *source, const meter_place_t *place) {
    void *meter = NULL;
    pto_error_t err = {0};
    assert_ok(source->open(place, &meter, &err), &err);
    return keep(meter, source->close);
}

static double joules_of(const meter_source_t *source, void *meter) {
    double joules = -1;
    assert_int_equal(source->read(meter, &joules, NULL), PTO_OK);
    return joules;
}

static void assert_joules(double joules, double wanted) { assert_true(fabs(joules - wanted) < 1e-9); }

TEST_WITH(rapl_adds_packages_and_memory_and_nothing_twice, make_folder, remove_folder) {
    const meter_place_t place = {.gpu = -1, .powercap = folder};
    put_zone("intel-rapl:0", "package-0\n", "1000000\n");
    put_zone("intel-rapl:0:0", "core\n", "1000000\n");
    put_zone("intel-rapl:0:1", "dram\n", "1000000\n");
    put_zone("intel-rapl:1", "package-1\n", "1000000\n");
    put_zone("intel-rapl:2", "psys\n", "1000000\n");
    put_zone("intel-rapl-mmio:0", "package-0\n", "1000000\n");
    void *meter = must_meter(&meter_rapl, &place);
    assert_joules(joules_of(&meter_rapl, meter), 0);
    put_text("intel-rapl:0", "energy_uj", "3000000\n");
    put_text("intel-rapl:0:0", "energy_uj", "2500000\n");
    put_text("intel-rapl:0:1", "energy_uj", "1500000\n");
    put_text("intel-rapl:1", "energy_uj", "1250000\n");
    put_text("intel-rapl:2", "energy_uj", "9000000\n");
    put_text("intel-rapl-mmio:0", "energy_uj", "3000000\n");
    assert_joules(joules_of(&meter_rapl, meter), 2 + 0.5 + 0.25);
}

TEST_WITH(a_counter_that_wraps_round_goes_on, make_folder, remove_folder) {
    const meter_place_t place = {.gpu = -1, .powercap = folder};
    put_zone("intel-rapl:0", "package-0\n", "999000000\n");
    void *meter = must_meter(&meter_rapl, &place);
    put_text("intel-rapl:0", "energy_uj", "500000\n");
    assert_joules(joules_of(&meter_rapl, meter), 1.5);
}

TEST_WITH(rapl_that_is_not_there_is_the_reason, make_folder, remove_folder) {
    const meter_place_t place = {.gpu = -1, .powercap = folder};
    void *meter = NULL;
    pto_error_t err = {0};
    assert_int_equal(meter_rapl.open(&place, &meter, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "shows no RAPL counters"));
    put_zone("intel-rapl:0", "package-0\n", "none\n");
    assert_int_equal(meter_rapl.open(&place, &meter, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "intel-rapl:0/energy_uj can't be read"));
    assert_null(meter);
}

/* --- NVML ----------------------------------------------------------------------------------------------- */

static struct {
    int gpu_count;
    int asked; /* for the GPU of this number */
    int result;
    unsigned long long millijoules;
} fake;

static int fake_init(unsigned flags) { return flags == 0 ? 0 : 1; }

static int fake_count(int *count) {
    *count = fake.gpu_count;
    return 0;
}

static int fake_get(int *device, int gpu) {
    fake.asked = gpu;
    *device = 10 + gpu;
    return 0;
}

static int fake_bus(char *bus, int bus_size, int device) {
    snprintf(bus, (size_t)bus_size, "0000:%02d:00.0", device);
    return 0;
}

static int fake_nvml_init(void) { return 0; }

static int fake_by_bus(const char *bus, void **device) {
    *device = &fake;
    return strncmp(bus, "0000:1", 6) == 0 ? 0 : 6;
}

static int fake_energy(void *device, unsigned long long *millijoules) {
    assert_ptr_equal(device, &fake);
    *millijoules = fake.millijoules;
    return fake.result;
}

static const char *fake_text(int result) { return result == 3 ? "Not Supported" : "?"; }

static const meter_nvml_calls_t fake_calls = {fake_init,      fake_count,  fake_get,    fake_bus,
                                              fake_nvml_init, fake_by_bus, fake_energy, fake_text};

TEST(nvml_reads_the_gpu_that_cuda_means) {
    const meter_place_t place = {.gpu = 5, .powercap = ""};
    void *meter = NULL;
    memset(&fake, 0, sizeof fake);
    fake.gpu_count = 4;
    fake.millijoules = 1500;
    assert_int_equal(meter_nvml_open(&fake_calls, &place, &meter, NULL), PTO_OK);
    assert_int_equal(fake.asked, 1); /* 5 modulo the 4 there are */
    assert_non_null(strstr(meter_nvml.id(meter), "0000:11:00.0"));
    assert_joules(joules_of(&meter_nvml, meter), 1.5);
    fake.result = 3;
    double joules;
    pto_error_t err = {0};
    assert_int_equal(meter_nvml.read(meter, &joules, &err), PTO_ERR_IO);
    assert_non_null(strstr(err.message, "Not Supported"));
    meter_nvml.close(meter);
}

TEST(nvml_that_can_not_be_read_is_the_reason) {
    const meter_place_t place = {.gpu = 0, .powercap = ""}, none = {.gpu = -1, .powercap = ""};
    void *meter = NULL;
    pto_error_t err = {0};
    memset(&fake, 0, sizeof fake);
    assert_int_equal(meter_nvml_open(&fake_calls, &place, &meter, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "shows no GPU"));
    fake.gpu_count = 1;
    fake.result = 3;
    assert_int_equal(meter_nvml_open(&fake_calls, &place, &meter, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "GPU 0000:10:00.0: NVML: Not Supported"));
    assert_int_equal(meter_nvml_open(NULL, &place, &meter, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "libnvidia-ml.so.1"));
    assert_int_equal(meter_nvml.open(&none, &meter, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "host memory, not a GPU"));
    assert_null(meter);
}

/* tests/mpi/test_energy.sh puts tests/mpi/fake_cuda.c and fake_nvml.c in the place of the driver and NVML. */
TEST(nvml_is_loaded_from_the_machine) {
    const char *gpus = getenv("FAKE_GPUS");
    if (!gpus) {
        skip();
        return;
    }
    const meter_place_t second = {.gpu = 1, .powercap = ""}, fourth = {.gpu = 3, .powercap = ""};
    pto_error_t err = {0};
    if (strcmp(gpus, "none") == 0) {
        void *meter = NULL;
        assert_int_equal(meter_nvml.open(&second, &meter, &err), PTO_ERR_NOT_APPLICABLE);
        assert_non_null(strstr(err.message, "libnvidia-ml.so.1"));
        return;
    }
    /* Of two GPUs, at 0000:00:00.0 and 0000:01:00.0, NVML's fifth and sixth. */
    void *meter = must_meter(&meter_nvml, &second), *same = must_meter(&meter_nvml, &fourth);
    assert_non_null(strstr(meter_nvml.id(meter), "0000:01:00.0"));
    assert_string_equal(meter_nvml.id(meter), meter_nvml.id(same));
    assert_joules(joules_of(&meter_nvml, meter), 6 + 2 * 0.5);
    assert_joules(joules_of(&meter_nvml, same), 6 + 3 * 0.5);
}
