/* Numbers as people read and write them. */
#include <locale.h>

#include "portolan/units.h"
#include "test.h"

typedef struct {
    const char *text;
    pto_status_t status;
    const char *words;
} refused_t;

static void assert_says(const refused_t *expected, pto_status_t status, const pto_error_t *err) {
    if (status != expected->status)
        print_error("'%s' gives %d: %s\n", expected->text, status, err->message);
    assert_int_equal(status, expected->status);
    if (!strstr(err->message, expected->words))
        print_error("'%s' does not say '%s'\n", err->message, expected->words);
    assert_non_null(strstr(err->message, expected->words));
}

TEST(whole_numbers_are_read) {
    const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"7", 7},
                {"-12", -12},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775807", -INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t value = 99;
        assert_int_equal(pto_int64_parse(good[i].text, &value, NULL), PTO_OK);
        assert_true(value == good[i].value);
    }
}

TEST(text_that_is_not_an_integer_is_rejected) {
    const refused_t bad[] = {
        {"", PTO_ERR_TYPE, "the value is empty"},
        {"-", PTO_ERR_TYPE, "not a whole number"},
        {" 1", PTO_ERR_TYPE, "not a whole number"},
        {"1 ", PTO_ERR_TYPE, "not a whole number"},
        {"+1", PTO_ERR_TYPE, "not a whole number"},
        {"1.0", PTO_ERR_TYPE, "not a whole number"},
        {"1e3", PTO_ERR_TYPE, "not a whole number"},
        {"1_000", PTO_ERR_TYPE, "not a whole number"},
        {"many", PTO_ERR_TYPE, "not a whole number"},
        {"0x10", PTO_ERR_TYPE, "hexadecimal"},
        {"-0x10", PTO_ERR_TYPE, "hexadecimal"},
        {"+0x10", PTO_ERR_TYPE, "hexadecimal"},
        {"0X10", PTO_ERR_TYPE, "hexadecimal"},
        {"0b1", PTO_ERR_TYPE, "not a whole number"},
        {"1x0", PTO_ERR_TYPE, "not a whole number"},
        {"--1", PTO_ERR_TYPE, "not a whole number"},
        {"00", PTO_ERR_TYPE, "leading zero"},
        {"010", PTO_ERR_TYPE, "leading zero"},
        {"-010", PTO_ERR_TYPE, "leading zero"},
        {".nan", PTO_ERR_RANGE, "not finite"},
        {"inf", PTO_ERR_RANGE, "not finite"},
        {"+.inf", PTO_ERR_RANGE, "not finite"},
        {"info", PTO_ERR_TYPE, "not a whole number"},
        {"9223372036854775808", PTO_ERR_RANGE, "too large"},
        {"-9223372036854775809", PTO_ERR_RANGE, "too large"},
        {"99999999999999999999999999", PTO_ERR_RANGE, "too large"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t value = 99;
        pto_error_t err;
        assert_says(&bad[i], pto_int64_parse(bad[i].text, &value, &err), &err);
        assert_int_equal(value, 99);
    }
}

TEST(numbers_are_read) {
    const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},          {"2", 2},     {"-0.5", -0.5},        {".5", .5},
                {"5.", 5},         {"1e3", 1e3}, {"1.38e-06", 1.38e-6}, {"1E+2", 100},
                {"0.0e-999", 0.0}, {"007", 7},   {"4.59e-13", 4.59e-13}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = 99;
        assert_int_equal(pto_double_parse(good[i].text, &value, NULL), PTO_OK);
        assert_true(value == good[i].value);
    }
}

TEST(text_that_is_not_a_number_is_rejected) {
    const refused_t bad[] = {
        {"", PTO_ERR_TYPE, "the value is empty"}, {".", PTO_ERR_TYPE, "not a number"},
        {"e5", PTO_ERR_TYPE, "not a number"},     {"1e", PTO_ERR_TYPE, "not a number"},
        {"1e+", PTO_ERR_TYPE, "not a number"},    {"1.2.3", PTO_ERR_TYPE, "not a number"},
        {"1,5", PTO_ERR_TYPE, "not a number"},    {" 1", PTO_ERR_TYPE, "not a number"},
        {"1 s", PTO_ERR_TYPE, "not a number"},    {"fast", PTO_ERR_TYPE, "not a number"},
        {"0x1p3", PTO_ERR_TYPE, "hexadecimal"},   {"nan", PTO_ERR_RANGE, "not finite"},
        {".NaN", PTO_ERR_RANGE, "not finite"},    {"-.inf", PTO_ERR_RANGE, "not finite"},
        {"+inf", PTO_ERR_RANGE, "not finite"},    {"Infinity", PTO_ERR_RANGE, "not finite"},
        {"1e999", PTO_ERR_RANGE, "too large"},    {"-1e999", PTO_ERR_RANGE, "too large"},
        {"1e-999", PTO_ERR_RANGE, "too small"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 99;
        pto_error_t err;
        assert_says(&bad[i], pto_double_parse(bad[i].text, &value, &err), &err);
        assert_true(value == 99);
    }
}

TEST(numbers_do_not_follow_the_locale) {
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    double value = 0;
    pto_status_t status = pto_double_parse("1.5", &value, NULL);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(status, PTO_OK);
    assert_true(value == 1.5);
}

TEST(bytes_take_binary_suffixes) {
    const struct {
        const char *text;
        int64_t bytes;
    } good[] = {{"0", 0},
                {"65536", 65536},
                {"64KiB", 65536},
                {"64K", 65536},
                {"64 KiB", 65536},
                {"1k", 1024},
                {"2m", 2097152},
                {"192GB", INT64_C(192000000000)},
                {"64 kB", 64000},
                {"64KB", 64000},
                {"7B", 7},
                {"1MiB", 1048576},
                {"2GiB", INT64_C(2147483648)},
                {"1T", INT64_C(1) << 40},
                {"1PiB", INT64_C(1) << 50},
                {"7EiB", INT64_C(7) << 60},
                {"0E", 0},
                {"9223372036854775807", INT64_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t bytes = 99;
        assert_int_equal(pto_bytes_parse(good[i].text, &bytes, NULL), PTO_OK);
        assert_true(bytes == good[i].bytes);
    }
}

TEST(text_that_is_not_a_byte_count_is_rejected) {
    const refused_t bad[] = {
        {"", PTO_ERR_TYPE, "the value is empty"},
        {"KiB", PTO_ERR_TYPE, "not a number of bytes"},
        {"1.5KiB", PTO_ERR_TYPE, "not a number of bytes"},
        {"1e6", PTO_ERR_TYPE, "not a number of bytes"},
        {"64kib", PTO_ERR_TYPE, "not a number of bytes"},
        {"64  KiB", PTO_ERR_TYPE, "not a number of bytes"},
        {"64 ", PTO_ERR_TYPE, "not a number of bytes"},
        {"64KiBs", PTO_ERR_TYPE, "not a number of bytes"},
        {"0x40", PTO_ERR_TYPE, "hexadecimal"},
        {"64kb", PTO_ERR_TYPE, "not a number of bytes"},
        {"1mB", PTO_ERR_TYPE, "not a number of bytes"},
        {"9223372036854776KB", PTO_ERR_RANGE, "too large"},
        {"064", PTO_ERR_TYPE, "leading zero"},
        {"-1", PTO_ERR_RANGE, "negative"},
        {"nan", PTO_ERR_RANGE, "not finite"},
        {"9223372036854775808", PTO_ERR_RANGE, "too large"},
        {"8EiB", PTO_ERR_RANGE, "too large"},
        {"9007199254740992K", PTO_ERR_RANGE, "too large"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t bytes = 99;
        pto_error_t err;
        assert_says(&bad[i], pto_bytes_parse(bad[i].text, &bytes, &err), &err);
        assert_int_equal(bytes, 99);
    }
}

TEST(bytes_print_with_their_largest_exact_suffix) {
    const struct {
        int64_t bytes;
        const char *text;
    } good[] = {{0, "0"},
                {1, "1"},
                {1023, "1023"},
                {1024, "1 KiB"},
                {1536, "1536"},
                {65536, "64 KiB"},
                {1048576, "1 MiB"},
                {1049600, "1025 KiB"},
                {INT64_C(3) << 30, "3 GiB"},
                {INT64_C(1) << 62, "4 EiB"},
                {INT64_MAX, "9223372036854775807"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[PTO_BYTES_TEXT_MAX];
        int64_t again = -1;
        pto_bytes_text(good[i].bytes, text);
        assert_string_equal(text, good[i].text);
        assert_int_equal(pto_bytes_parse(text, &again, NULL), PTO_OK);
        assert_true(again == good[i].bytes);
    }
}

TEST(seconds_print_with_three_digits) {
    const struct {
        double seconds;
        const char *text;
    } good[] = {{0, "0 s"},
                {1, "1.00 s"},
                {12.34, "12.3 s"},
                {123.4, "123 s"},
                {0.999, "999 ms"},
                {0.9996, "1.00 s"},
                {1.2345e-5, "12.3 us"},
                {9.9996e-4, "1.00 ms"},
                {9.999e-5, "100 us"},
                {1.38e-6, "1.38 us"},
                {5e-9, "5.00 ns"},
                {1.5e-10, "0.150 ns"},
                {2e-12, "0.00200 ns"},
                {2.5e-20, "2.5e-20 s"},
                {1234, "1230 s"},
                {23348, "23300 s"},
                {999400, "999000 s"},
                {999600, "1e+06 s"},
                {-0.5, "-500 ms"},
                {-8.94e-6, "-8.94 us"},
                {-1234, "-1230 s"},
                {-2.5e-20, "-2.5e-20 s"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[PTO_SECONDS_TEXT_MAX];
        pto_seconds_text(good[i].seconds, text);
        assert_string_equal(text, good[i].text);
    }
    char text[PTO_SECONDS_TEXT_MAX];
    pto_joules_text(0.0123, text);
    assert_string_equal(text, "12.3 mJ");
}

TEST(quantities_take_their_units) {
    static const struct {
        const char *text;
        pto_unit_t unit;
        double value;
    } good[] = {{"5 us", PTO_UNIT_S, 5e-6},
                {"1.5e3ns", PTO_UNIT_S, 1.5e-6},
                {"5 \xc2\xb5s", PTO_UNIT_S, 5e-6},
                {"2 s", PTO_UNIT_S, 2},
                {"0.002", PTO_UNIT_S, 0.002},
                {"50 GB/s", PTO_UNIT_S_PER_BYTE, 1 / 50e9},
                {"400 Gbit/s", PTO_UNIT_S_PER_BYTE, 1 / 50e9},
                {"400Gb/s", PTO_UNIT_S_PER_BYTE, 1 / 50e9},
                {"400 Gbits/s", PTO_UNIT_S_PER_BYTE, 1 / 50e9},
                {"400Gbps", PTO_UNIT_S_PER_BYTE, 1 / 50e9},
                {"400gbps", PTO_UNIT_S_PER_BYTE, 1 / 50e9},
                {"800 mbps", PTO_UNIT_S_PER_BYTE, 1 / 100e6},
                {"50GBps", PTO_UNIT_S_PER_BYTE, 1 / 50e9},
                {"12 GiB/s", PTO_UNIT_S_PER_BYTE, 1 / (12 * 0x1p30)},
                {"20 ps/B", PTO_UNIT_S_PER_BYTE, 20e-12},
                {"2e-11", PTO_UNIT_S_PER_BYTE, 2e-11},
                {"700 W", PTO_UNIT_W, 700},
                {"64 KiB", PTO_UNIT_BYTES, 65536},
                {"0.5", PTO_UNIT_RATIO, 0.5}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = -1;
        pto_error_t err = {0};
        assert_int_equal(pto_quantity_parse(good[i].text, good[i].unit, &value, &err), PTO_OK);
        assert_true(fabs(value - good[i].value) <= 1e-15 * good[i].value);
    }
}

TEST(nics_are_read_by_what_they_are_sold_as) {
    static const char *const others[] = {"", "G", "0G", "400", "400GB", "400  G", "NDR9", "4.5G", "50 GB/s"};
    static const struct {
        const char *text;
        double gbit_per_s;
    } sold[] = {{"FDR", 56},  {"edr", 100},  {"HDR", 200},  {"HDR100", 100}, {"ndr", 400},    {"NDR200", 200},
                {"XDR", 800}, {"400G", 400}, {"25GbE", 25}, {"100GE", 100},  {"400 Gb", 400}, {"10Gbit", 10}};
    for (size_t i = 0; i < sizeof sold / sizeof *sold; i++)
        assert_true(fabs(pto_nic_s_per_byte(sold[i].text) * sold[i].gbit_per_s / 8e-9 - 1) < 1e-12);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(!(pto_nic_s_per_byte(others[i]) > 0));
}

TEST(quantities_of_other_units_are_rejected) {
    static const struct {
        const char *text;
        pto_unit_t unit;
        pto_status_t status;
    } bad[] = {{"5 us", PTO_UNIT_S_PER_BYTE, PTO_ERR_TYPE},
               {"50 GB/s", PTO_UNIT_S, PTO_ERR_TYPE},
               {"5 us", PTO_UNIT_RATIO, PTO_ERR_TYPE},
               {"5 us", PTO_UNIT_NONE, PTO_ERR_TYPE},
               {"50 gB/s", PTO_UNIT_S_PER_BYTE, PTO_ERR_TYPE},
               {"50 Gb", PTO_UNIT_S_PER_BYTE, PTO_ERR_TYPE},
               {"0 GB/s", PTO_UNIT_S_PER_BYTE, PTO_ERR_RANGE},
               {"GB/s", PTO_UNIT_S_PER_BYTE, PTO_ERR_TYPE},
               {"5  us", PTO_UNIT_S, PTO_ERR_TYPE},
               {"5 us ", PTO_UNIT_S, PTO_ERR_TYPE},
               {"5 hours", PTO_UNIT_S, PTO_ERR_TYPE},
               {"0x5 us", PTO_UNIT_S, PTO_ERR_TYPE},
               {"1e999 us", PTO_UNIT_S, PTO_ERR_RANGE},
               {"1e-320 us", PTO_UNIT_S, PTO_ERR_RANGE},
               {"1e308 kW", PTO_UNIT_W, PTO_ERR_RANGE},
               {"1e308 TB/s", PTO_UNIT_S_PER_BYTE, PTO_ERR_RANGE},
               {"1e-320 B/s", PTO_UNIT_S_PER_BYTE, PTO_ERR_RANGE},
               {"", PTO_UNIT_S, PTO_ERR_TYPE}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = -1;
        pto_error_t err = {0};
        assert_int_equal(pto_quantity_parse(bad[i].text, bad[i].unit, &value, &err), bad[i].status);
        assert_true(value < 0);
        assert_int_not_equal(strlen(err.message), 0);
    }
}
