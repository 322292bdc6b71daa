/* The program's own folder, which its data are found from. The library under unchanged programs has one of
 * its own (dropin/library_folder.c). */
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
