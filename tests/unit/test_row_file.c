/* Files of rows: their content after a failed write, and what happens to an existing file. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../../parallel/row_file.h"
#include "files.h"
#include "test.h"

/* Every test has a folder of its own and works in it. */
static int enter_folder(void **state) { return make_folder(state) == 0 ? chdir(folder) : -1; }

static int leave_folder(void **state) { return chdir("/") == 0 ? remove_folder(state) : -1; }

static row_file_t *open_rows(const char *path, bool force) {
    row_file_t *file = NULL;
    pto_error_t err = {0};
    assert_ok(row_file_open(path, force, &file, &err), &err);
    return file;
}

static void put(row_file_t *file, const char *text) {
    pto_error_t err = {0};
    assert_ok(row_file_put(file, text, strlen(text), &err), &err);
}

TEST_WITH(a_file_that_exists_is_kept_without_force, enter_folder, leave_folder) {
    row_file_t *file = NULL;
    pto_error_t err = {0};
    write_text("rows", "old\n");
    assert_int_equal(row_file_open("rows", false, &file, &err), PTO_ERR_IO);
    assert_string_equal(err.file, "rows");
    assert_string_equal(err.message, "exists already (--force replaces it)");
    assert_holds("rows", "old\n");
}

TEST_WITH(the_old_file_stays_until_the_new_one_is_closed, enter_folder, leave_folder) {
    write_text("rows", "old\n");
    assert_int_equal(chmod("rows", 0640), 0);
    row_file_t *file = open_rows("rows", true);
    put(file, "new\n");
    assert_holds("rows", "old\n");
    assert_holds(row_file_path(file), "new\n");
    assert_int_equal(row_file_close(file, NULL), PTO_OK);
    assert_holds("rows", "new\n");
    struct stat found;
    assert_int_equal(stat("rows", &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
}

TEST_WITH(rows_that_cannot_take_their_place_stay_beside_it, enter_folder, leave_folder) {
    char beside[64];
    row_file_t *file = open_rows("rows", true);
    put(file, "new\n");
    snprintf(beside, sizeof beside, "%s", row_file_path(file));
    assert_non_null(strstr(beside, "rows.part-"));
    assert_int_equal(mkdir("rows", 0777), 0);
    assert_int_equal(row_file_close(file, NULL), PTO_ERR_IO);
    assert_holds(beside, "new\n");
}

/* A new file can be followed while it grows, and what a program that dies leaves is all of it. */
TEST_WITH(a_new_file_has_its_name_from_the_start, enter_folder, leave_folder) {
    row_file_t *file = open_rows("rows", false);
    put(file, "row\n");
    assert_string_equal(row_file_path(file), "rows");
    assert_holds("rows", "row\n");
    assert_int_equal(row_file_close(file, NULL), PTO_OK);
    assert_holds("rows", "row\n");
}

/* pwrite(2) appends there, wherever it is told to write. */
TEST_WITH(what_is_appended_to_is_not_rewritten, enter_folder, leave_folder) {
    write_text("log", "old\n");
    fflush(stdout);
    int before = dup(STDOUT_FILENO), log = open("log", O_WRONLY | O_APPEND);
    assert_true(log >= 0 && dup2(log, STDOUT_FILENO) >= 0);
    row_file_t *file = open_rows("-", false);
    int64_t place = row_file_place(file);
    put(file, "row\n");
    assert_int_equal(row_file_close(file, NULL), PTO_OK);
    dup2(before, STDOUT_FILENO);
    close(before);
    close(log);
    assert_int_equal(place, -1);
    assert_holds("log", "old\nrow\n");
}

TEST_WITH(two_writers_at_once_leave_one_whole_file, enter_folder, leave_folder) {
    row_file_t *one = open_rows("rows", true), *other = open_rows("rows", true);
    put(one, "one 1\n");
    put(other, "other 1\n");
    put(one, "one 2\n");
    assert_int_equal(row_file_close(other, NULL), PTO_OK);
    assert_holds("rows", "other 1\n");
    assert_int_equal(row_file_close(one, NULL), PTO_OK);
    assert_holds("rows", "one 1\none 2\n");
}

TEST_WITH(a_symbolic_link_is_followed_and_kept, enter_folder, leave_folder) {
    write_text("target", "old\n");
    assert_int_equal(symlink("target", "link"), 0);
    row_file_t *file = open_rows("link", true);
    put(file, "new\n");
    assert_int_equal(row_file_close(file, NULL), PTO_OK);
    assert_holds("target", "new\n");
    struct stat found;
    assert_int_equal(lstat("link", &found), 0);
    assert_true(S_ISLNK(found.st_mode));
}

TEST_WITH(a_device_is_written_and_not_replaced, enter_folder, leave_folder) {
    for (int force = 0; force < 2; force++) {
        pto_error_t err = {0};
        row_file_t *file = open_rows("/dev/full", force);
        assert_int_equal(row_file_put(file, "row\n", 4, &err), PTO_ERR_IO);
        assert_string_equal(err.file, "/dev/full");
        assert_string_equal(err.message, "cannot write: No space left on device");
        assert_int_equal(row_file_close(file, NULL), PTO_OK);
    }
    struct stat found;
    assert_int_equal(stat("/dev/full", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
}

/* A limit on file sizes stands for a full disk: here too the first part of a row still fits. */
TEST_WITH(rows_that_do_not_fit_leave_no_part, enter_folder, leave_folder) {
    struct rlimit before, limit;
    pto_error_t err = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){.rlim_cur = 10, .rlim_max = before.rlim_max};
    row_file_t *file = open_rows("rows", false);
    put(file, "row 1\n");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    pto_status_t status = row_file_put(file, "row 2\n", 6, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, PTO_ERR_IO);
    assert_string_equal(err.message, "cannot write: File too large; the lines before are kept");
    assert_holds("rows", "row 1\n");
    put(file, "row 3\n");
    assert_int_equal(row_file_close(file, NULL), PTO_OK);
    assert_holds("rows", "row 1\nrow 3\n");
}

TEST_WITH(a_line_can_be_rewritten, enter_folder, leave_folder) {
    row_file_t *file = open_rows("rows", false);
    put(file, "head\n");
    int64_t place = row_file_place(file);
    put(file, "no \n");
    put(file, "row\n");
    assert_int_equal(row_file_rewrite(file, place, "yes\n", 4, NULL), PTO_OK);
    put(file, "end\n");
    assert_int_equal(row_file_close(file, NULL), PTO_OK);
    assert_holds("rows", "head\nyes\nrow\nend\n");
}
