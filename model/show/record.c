/* Writing records, lists of named values, as the members of a JSON object or as the fields of a CSV row. */
#include "record.h"

#include <math.h>

#include "table.h"

static void print_json_value(FILE *stream, const pto_field_t *field) {
    switch (field->kind) {
    case PTO_RECORD_TEXT:
        pto_print_json_string(stream, field->text);
        break;
    case PTO_RECORD_WHOLE:
        fprintf(stream, "%lld", (long long)field->count);
        break;
    case PTO_RECORD_NUMBER:
        if (isfinite(field->number))
            fprintf(stream, "%.*g", field->digits, field->number);
        else
            fputs("null", stream); /* JSON has no infinity */
        break;
    case PTO_RECORD_TRUTH:
        fputs(field->count ? "true" : "false", stream);
        break;
    case PTO_RECORD_NAMES:
        for (int64_t i = 0; i < field->count; i++) {
            fputs(i ? ", " : "[", stream);
            pto_print_json_string(stream, field->names[i]);
        }
        fputs(field->count ? "]" : "[]", stream);
    }
}

static void print_csv_value(FILE *stream, const pto_field_t *field) {
    if (field->kind == PTO_RECORD_TEXT)
        pto_print_csv_text(stream, field->text);
    else if (field->kind == PTO_RECORD_TRUTH)
        fputs(field->count ? "1" : "0", stream);
    else if (field->kind == PTO_RECORD_NUMBER)
        fprintf(stream, "%.*g", field->digits, field->number);
    else if (field->kind != PTO_RECORD_NAMES)
        print_json_value(stream, field);
    else
        for (int64_t i = 0; i < field->count; i++)
            fprintf(stream, "%s%s", i ? " " : "", field->names[i]);
}

void pto_print_record(FILE *stream, pto_format_t format, const char *between, const pto_field_t *field,
                      size_t count) {
    const bool is_csv = format == PTO_FORMAT_CSV;
    for (; count > 0; count--, field++) {
        const pto_field_state_t state = field->state[format];
        if (state == PTO_RECORD_NONE || (state == PTO_RECORD_LEFT_OUT && !is_csv))
            continue;
        if (is_csv) {
            if (state == PTO_RECORD_SHOWN)
                print_csv_value(stream, field);
            fputc(',', stream);
            continue;
        }
        fprintf(stream, "%s\"%s\": ", between, field->name);
        if (state == PTO_RECORD_SHOWN)
            print_json_value(stream, field);
        else
            fputs("null", stream);
        between = ", ";
    }
}

void pto_print_object(FILE *stream, const char *before, const pto_field_t *field, size_t count) {
    fprintf(stream, "%s{", before);
    pto_print_record(stream, PTO_FORMAT_JSON, "", field, count);
    fputc('}', stream);
}
