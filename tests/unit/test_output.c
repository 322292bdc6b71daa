/* Writing files: links, devices and other special files survive. Devices are created in a temporary
 * folder. */
#define _XOPEN_SOURCE 700 /* mknod */ /* NOLINT(bugprone-reserved-identifier) */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "files.h"
#include "portolan/output.h"
#include "test.h"

static int leave_folder(void **state) {
    const char *const name[] = {"file", "link", "other", "fifo", "null", "full"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        unlink(in_folder(name[i]));
    return rmdir(folder); /* fails where a file was left beside another */
}

static pto_status_t write_file(const char *path, const char *text, bool force, pto_error_t *err) {
    pto_output_t *output = NULL;
    pto_status_t status = pto_output_open(path, force, &output, err);
    if (status != PTO_OK)
        return status;
    fputs(text, pto_output_stream(output));
    return pto_output_close(output, true, err);
}

static mode_t mode_of(const char *path) {
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode;
}

TEST_WITH(a_file_is_replaced_by_force_alone, make_folder, leave_folder) {
    pto_error_t err;
    const char *file = in_folder("file");
    assert_int_equal(write_file(file, "first", false, &err), PTO_OK);
    assert_int_equal(chmod(file, 0640), 0);
    assert_int_equal(write_file(file, "second", false, &err), PTO_ERR_IO);
    assert_non_null(strstr(err.message, "--force"));
    assert_holds(file, "first");
    assert_int_equal(write_file(file, "second", true, &err), PTO_OK);
    assert_holds(file, "second");
    assert_int_equal(mode_of(file) & 0777, 0640);
}

TEST_WITH(what_is_dropped_leaves_the_old_file, make_folder, leave_folder) {
    pto_error_t err;
    pto_output_t *output = NULL;
    const char *file = in_folder("file");
    assert_int_equal(write_file(file, "first", false, &err), PTO_OK);
    assert_int_equal(pto_output_open(file, true, &output, &err), PTO_OK);
    fputs("second", pto_output_stream(output));
    assert_int_equal(pto_output_close(output, false, &err), PTO_OK);
    assert_holds(file, "first");
}

TEST_WITH(a_link_stays_and_its_target_is_replaced, make_folder, leave_folder) {
    pto_error_t err;
    const char *file = in_folder("file"), *link = in_folder("link");
    assert_int_equal(write_file(file, "first", false, &err), PTO_OK);
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(write_file(link, "second", false, &err), PTO_ERR_IO);
    assert_int_equal(write_file(link, "second", true, &err), PTO_OK);
    assert_true(S_ISLNK(mode_of(link)));
    assert_holds(file, "second");
}

TEST_WITH(a_link_to_nothing_makes_its_target, make_folder, leave_folder) {
    pto_error_t err;
    const char *link = in_folder("link");
    assert_int_equal(symlink("other", link), 0);
    assert_int_equal(write_file(link, "text", false, &err), PTO_OK);
    assert_true(S_ISLNK(mode_of(link)));
    assert_holds(in_folder("other"), "text");
}

TEST_WITH(links_in_a_circle_are_an_error, make_folder, leave_folder) {
    pto_error_t err;
    assert_int_equal(symlink("other", in_folder("link")), 0);
    assert_int_equal(symlink("link", in_folder("other")), 0);
    assert_int_equal(write_file(in_folder("link"), "text", true, &err), PTO_ERR_IO);
}

TEST_WITH(a_fifo_is_written_and_stays, make_folder, leave_folder) {
    pto_error_t err;
    const char *fifo = in_folder("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(write_file(fifo, "text", true, &err), PTO_OK);
    char read_back[8] = "";
    assert_int_equal(read(reader, read_back, sizeof read_back - 1), 4);
    close(reader);
    assert_string_equal(read_back, "text");
    assert_true(S_ISFIFO(mode_of(fifo)));
}

/* As root alone; elsewhere there is no device that could be lost. */
TEST_WITH(a_device_is_written_and_stays, make_folder, leave_folder) {
    pto_error_t err;
    const char *null = in_folder("null"), *full = in_folder("full");
    if (mknod(null, S_IFCHR | 0600, makedev(1, 3)) != 0 || mknod(full, S_IFCHR | 0600, makedev(1, 7)) != 0)
        skip();
    int file = open(full, O_WRONLY);
    if (file < 0) /* file systems may be mounted without devices */
        skip();
    close(file);
    assert_int_equal(write_file(null, "text", true, &err), PTO_OK);
    assert_int_equal(write_file(full, "text", true, &err), PTO_ERR_IO);
    assert_non_null(strstr(err.message, "No space left"));
    assert_true(S_ISCHR(mode_of(null)) && S_ISCHR(mode_of(full)));
}

/* Where nothing has the file's name, its name is not in the way. */
TEST_WITH(what_was_removed_under_way_is_missing, make_folder, leave_folder) {
    pto_output_t *output = NULL;
    pto_error_t err;
    assert_int_equal(pto_output_open(in_folder("file"), false, &output, &err), PTO_OK);
    assert_int_equal(unlink(pto_output_place(output)), 0);
    assert_int_equal(pto_output_close(output, true, &err), PTO_ERR_IO);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(access(in_folder("file"), F_OK), -1);
}

/* As the handler of a signal does. */
TEST_WITH(an_interrupted_output_leaves_no_file, make_folder, leave_folder) {
    pto_output_t *output = NULL, *other = NULL;
    char beside[128];
    assert_int_equal(pto_output_open(in_folder("file"), false, &output, NULL), PTO_OK);
    assert_int_equal(pto_output_open(in_folder("other"), false, &other, NULL), PTO_OK);
    snprintf(beside, sizeof beside, "%s", pto_output_place(output));
    assert_int_equal(pto_output_close(other, true, NULL), PTO_OK);
    assert_int_equal(access(beside, F_OK), 0);
    pto_output_unlink_unfinished();
    assert_int_equal(access(beside, F_OK), -1);
    assert_int_equal(access(in_folder("other"), F_OK), 0);
    assert_int_equal(pto_output_close(output, false, NULL), PTO_OK);
}
