/* pto_program_folder (machine_folders.h) for a preloaded library: machine files are looked up from the
 * library's own folder instead of the program's. */
#include <dlfcn.h>
#include <string.h>

#include "command_line/machine_folders.h"

bool pto_program_folder(char folder[PTO_FOLDER_MAX]) {
    static const char here;
    Dl_info info;
    const char *slash = dladdr(&here, &info) != 0 && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    size_t length = slash ? (size_t)(slash - info.dli_fname) : 0;
    if (!slash || length >= PTO_FOLDER_MAX)
        return false;
    memcpy(folder, info.dli_fname, length);
    folder[length] = '\0';
    return true;
}
