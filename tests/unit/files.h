/* Files that tests read and write, and a folder of a test's own. */
#ifndef PTO_TEST_FILES_H
#define PTO_TEST_FILES_H

#include <unistd.h>

#include "base/text_file.h"
#include "test.h"

/* The text of a file, until the test ends. */
static inline char *must_read_text(const char *path) {
    char *text = NULL;
    size_t size = 0;
    pto_error_t err = {0};
    assert_ok(pto_text_read(path, 1 << 20, &text, &size, &err), &err);
    return keep(text, free);
}

static inline void assert_holds(const char *path, const char *text) {
    assert_string_equal(must_read_text(path), text);
}

static inline void write_bytes(const char *path, const char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

static char folder[64];

/* The set-up and the tear-down of a test, or of all tests. */
static inline int make_folder(void **state) {
    snprintf(folder, sizeof folder, "/tmp/portolan-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    char command[96];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command); /* NOLINT(cert-env33-c): our own folder */
}

/* The path of a file in the folder; until the fourth call after this one. */
static inline const char *in_folder(const char *name) {
    static char path[4][128];
    static int next;
    char *made = path[next++ % 4];
    snprintf(made, sizeof path[0], "%s/%s", folder, name);
    return made;
}

#endif
