/* The folder of the running program, relative to which its data files are found. The drop-in library has its
 * own version of this function (dropin/library_folder.c). */
#include <string.h>
#include <unistd.h>

#include "machine_folders.h"

bool pto_program_folder(char folder[PTO_FOLDER_MAX]) {
    ssize_t length = readlink("/proc/self/exe", folder, PTO_FOLDER_MAX - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    return slash != NULL;
}
