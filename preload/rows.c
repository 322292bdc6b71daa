/* Appends rows to a file by write(2), and after a failed write truncates it to whole rows. */
#include "rows.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

void preload_rows_put(preload_rows_t *rows, const char *text, size_t size) {
    size_t done = 0;
    while (rows->file >= 0 && !rows->cause && done < size) {
        ssize_t written = write(rows->file, text + done, size - done);
        done += written > 0 ? (size_t)written : 0;
        if (written < 0 && errno != EINTR)
            rows->cause = errno;
    }
    const bool is_cut = rows->cause && done > 0; /* perhaps within a row: only whole ones are kept */
    while (is_cut && done > 0 && text[done - 1] != '\n')
        done--;
    rows->end += (off_t)done;
    if (is_cut && ftruncate(rows->file, rows->end) != 0)
        return; /* devices and pipes cannot be truncated */
}

int preload_rows_close(preload_rows_t *rows) {
    if (rows->file >= 0 && close(rows->file) != 0 && !rows->cause)
        rows->cause = errno;
    rows->file = -1;
    return rows->cause;
}
