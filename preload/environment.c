/* Reads words and numbers from environment variables, and prints messages about values that are not
 * understood. */
#include "environment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/printable.h"
#include "portolan/units.h"

enum { PATH_ROOM = 4096 };

static const char *speaker = "portolan";

void preload_speak_as(const char *who) { speaker = who; }

void preload_say(const char *format, ...) {
    char text[PATH_ROOM + PTO_ERROR_MESSAGE_MAX], escaped[2 * sizeof text];
    va_list arguments;
    if (!speaker)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", speaker, pto_escape_text(text, escaped, sizeof escaped));
}

const char *preload_text(const char *name) {
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

int preload_word(const char *name, const char *const *word, int count, int otherwise) {
    const char *text = preload_text(name);
    char known[128] = "";
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, word[i]) == 0)
            return i;
    for (int i = 0, used = 0; i < count; i++) {
        const char *separator = i + 1 == count ? " and " : ", ";
        used += snprintf(known + used, sizeof known - (size_t)used, "%s%s", i > 0 ? separator : "", word[i]);
    }
    if (text)
        preload_say("%s=%.40s is ignored: known %s %s", name, text, count > 1 ? "are" : "is", known);
    return otherwise;
}

bool preload_is_on(const char *name, bool otherwise) {
    static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true"};
    return preload_word(name, words, sizeof words / sizeof *words, otherwise) % 2 == 1;
}

int64_t preload_number(const char *name, int64_t least, int64_t most, int64_t otherwise) {
    const char *text = preload_text(name);
    int64_t value = 0;
    if (!text)
        return otherwise;
    if (strcmp(text, "0") == 0 && least == 0)
        return 0;
    if (pto_bytes_parse(text, &value, NULL) == PTO_OK && value >= 1 && value <= most)
        return value;
    if (most == INT64_MAX)
        preload_say("%s=%.40s is ignored: it is not a whole number of %lld or more, such as 512%s", name,
                    text, (long long)least, least > 0 ? "MiB" : "");
    else
        preload_say("%s=%.40s is ignored: it is not a whole number from %lld to %lld", name, text,
                    (long long)least, (long long)most);
    return otherwise;
}
