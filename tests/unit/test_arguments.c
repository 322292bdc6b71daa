/* Command lines driven by tables: what is accepted, what is rejected, and that the documents list every
 * option. */
#include "command.h"
#include "files.h"
#include "portolan/exec.h"
#include "test.h"

enum { SAID_MAX = 4096, NAMES_MAX = 128 };

typedef struct {
    const char *text;
    int flags;
    int64_t size;
    int order[4]; /* which was applied: 1 text, 2 flag */
    int count;
} taken_t;

static pto_status_t apply_text(void *target, const char *text, pto_error_t *err) {
    taken_t *taken = target;
    if (strcmp(text, "bad") == 0)
        return pto_error_set(err, PTO_ERR_TYPE, "'bad' is bad");
    taken->text = text;
    taken->order[taken->count++] = 1;
    return PTO_OK;
}

static pto_status_t apply_flag(void *target, const char *text, pto_error_t *err) {
    taken_t *taken = target;
    assert_null(text);
    taken->flags++;
    taken->order[taken->count++] = 2;
    return PTO_OK;
}

static const pto_option_t options[] = {{"text", "TEXT", "a text", .apply = apply_text, .standard = "usual"},
                                       {"flag", NULL, "a flag", .apply = apply_flag},
                                       {"flat", NULL, "another", .apply = apply_flag},
                                       {"out", "FILE", "a file", .apply = apply_text},
                                       {.name = NULL}};
static const pto_option_set_t sets[] = {{"options", options}, {NULL, NULL}};
static const pto_syntax_t syntax = {.program = "program", .usage = "usage: program\n", .set = sets};

#define PARSED(...) parsed((char *[]){(char[]){"program"}, __VA_ARGS__, NULL})
#define WORD(text) ((char[]){text})

static int parse(char **argv, pto_arguments_t *arguments) {
    int argc = 0;
    while (argv[argc])
        argc++;
    return pto_arguments_parse(&syntax, argc, argv, arguments);
}

static void end_arguments(void *arguments) { pto_arguments_fini(arguments); }

static pto_arguments_t *parsed(char **argv) {
    pto_arguments_t *arguments = keep_new(sizeof *arguments, end_arguments);
    assert_int_equal(parse(argv, arguments), -1);
    return arguments;
}

TEST(values_are_the_next_word_or_follow_an_equals_sign) {
    taken_t taken = {0};
    pto_arguments_t *arguments = PARSED(WORD("--flag"), WORD("a"), WORD("--text"), WORD("-1"),
                                        WORD("--text=b=c"), WORD("-"), WORD("--"), WORD("--flag"));
    assert_int_equal(arguments->given_count, 3);
    assert_string_equal(arguments->given[1].text, "-1");
    assert_string_equal(arguments->given[2].text, "b=c");
    assert_int_equal(arguments->operand_count, 3);
    assert_string_equal(arguments->operand[0], "a");
    assert_string_equal(arguments->operand[1], "-");
    assert_string_equal(arguments->operand[2], "--flag");
    assert_int_equal(pto_arguments_apply(arguments, &taken, NULL), PTO_OK);
    assert_string_equal(taken.text, "b=c");
    assert_int_equal(taken.flags, 1);
}

TEST(a_command_keeps_the_options_behind_it) {
    pto_syntax_t runs = syntax;
    pto_arguments_t arguments;
    pto_error_t err = {0};
    char *argv[] = {"program", "--flag", "mpirun", "-n", "2", "--", "--flag"};
    assert_int_equal(pto_arguments_read(&runs, 7, argv, &arguments, &err), PTO_EXIT_USAGE);
    runs.runs_command = true;
    assert_int_equal(pto_arguments_read(&runs, 7, argv, &arguments, &err), -1);
    assert_int_equal(arguments.given_count, 1);
    assert_int_equal(arguments.operand_count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(arguments.operand[i], argv[i + 2]);
    pto_arguments_fini(&arguments);
}

TEST(standard_values_come_before_what_is_given) {
    taken_t taken = {0};
    pto_arguments_t *arguments = PARSED(WORD("--flag"));
    assert_int_equal(pto_arguments_apply(arguments, &taken, NULL), PTO_OK);
    assert_string_equal(taken.text, "usual");
    assert_true(taken.order[0] == 1 && taken.order[1] == 2);
}

TEST(unambiguous_beginnings_are_names) {
    pto_arguments_t *arguments = PARSED(WORD("--te=x"), WORD("--flag"));
    assert_ptr_equal(arguments->given[0].option, &options[0]);
    assert_ptr_equal(arguments->given[1].option, &options[1]);
}

TEST(out_has_a_short_form) {
    taken_t taken = {0};
    pto_error_t err = {0};
    pto_arguments_t *arguments = PARSED(WORD("-o"), WORD("-f"), WORD("a"));
    assert_int_equal(arguments->operand_count, 1);
    assert_int_equal(pto_arguments_apply(arguments, &taken, NULL), PTO_OK);
    assert_string_equal(taken.text, "-f");
    pto_arguments_t refused;
    char *argv[] = {WORD("program"), WORD("-o=f"), NULL}, *last[] = {WORD("program"), WORD("-o"), NULL};
    assert_int_not_equal(pto_arguments_read(&syntax, 2, argv, &refused, &err), -1);
    assert_non_null(strstr(err.message, "unknown option '-o=f'"));
    assert_int_not_equal(pto_arguments_read(&syntax, 2, last, &refused, &err), -1);
    assert_non_null(strstr(err.message, "--out needs a value"));
}

TEST(an_empty_value_is_refused) {
    pto_arguments_t arguments;
    pto_error_t err = {0};
    char *next[] = {WORD("program"), WORD("--text"), WORD(""), NULL},
         *same[] = {WORD("program"), WORD("--text="), NULL};
    assert_int_equal(pto_arguments_read(&syntax, 3, next, &arguments, &err), PTO_EXIT_USAGE);
    assert_non_null(strstr(err.message, "--text needs a value (TEXT), and this one is empty"));
    assert_int_equal(pto_arguments_read(&syntax, 2, same, &arguments, NULL), PTO_EXIT_USAGE);
    pto_arguments_fini(&arguments); /* nothing is left to free */
    assert_null(arguments.given);
}

static const pto_option_t size_options[] = {
    {"size", "BYTES", "a size", PTO_STORE(BYTES, taken_t, size), .least = 1 << 20}, {.name = NULL}};
static const pto_option_set_t size_sets[] = {{"options", size_options}, {NULL, NULL}};
static const pto_syntax_t size_syntax = {.program = "program", .usage = "usage: program\n", .set = size_sets};

/* What the value of --size is refused with; "" where it is taken. */
static const char *size_fault(const char *text, pto_error_t *err) {
    pto_given_t given = {.option = size_options, .text = text};
    const pto_arguments_t arguments = {.syntax = &size_syntax, .given_count = 1, .given = &given};
    taken_t taken = {0};
    *err = (pto_error_t){0};
    pto_arguments_apply(&arguments, &taken, err);
    return err->message;
}

TEST(a_size_without_its_unit_is_refused_with_the_one_that_was_meant) {
    pto_error_t err;
    assert_string_equal(size_fault("1MiB", &err), "");
    assert_string_equal(size_fault("80", &err), "--size: 80 bytes is less than 1 MiB; did you mean 80GiB?");
    assert_string_equal(size_fault("81559", &err),
                        "--size: 81559 bytes is less than 1 MiB; did you mean 81559MiB?");
    assert_string_equal(size_fault("0", &err), "--size: '0' is less than 1 MiB");
    assert_string_equal(size_fault("80KiB", &err), "--size: '80KiB' is less than 1 MiB");
}

TEST(an_invalid_value_names_its_option) {
    taken_t taken = {0};
    pto_error_t err = {0};
    pto_arguments_t *arguments = PARSED(WORD("--text"), WORD("bad"));
    assert_int_equal(pto_arguments_apply(arguments, &taken, &err), PTO_ERR_TYPE);
    assert_string_equal(err.message, "--text: 'bad' is bad");
}

/* What a command line that is refused says; standard error goes to a file meanwhile. */
static const char *said(char *text, int code, char **argv) {
    FILE *file = tmpfile();
    pto_arguments_t arguments;
    assert_non_null(file);
    fflush(stderr);
    int before = dup(STDERR_FILENO);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    int got = parse(argv, &arguments);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, SAID_MAX - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(got, code);
    return text;
}

#define SAID(text, ...) said((text), PTO_EXIT_USAGE, (char *[]){(char[]){"program"}, __VA_ARGS__, NULL})

TEST(misspelled_options_are_rejected_with_a_suggestion) {
    char text[SAID_MAX];
    assert_string_equal(SAID(text, WORD("--tetx=1")),
                        "program: unknown option '--tetx'; did you mean '--text'?\n");
    assert_string_equal(SAID(text, WORD("--fla")),
                        "program: unknown option '--fla'; did you mean '--flag'?\n");
    assert_string_equal(SAID(text, WORD("--colour")),
                        "program: unknown option '--colour'; `program --help` explains\n");
    assert_string_equal(SAID(text, WORD("-x")), "program: unknown option '-x'; `program --help` explains\n");
    assert_string_equal(SAID(text, WORD("--text")),
                        "program: --text needs a value (TEXT); `program --help` explains\n");
    assert_string_equal(SAID(text, WORD("--flag=1")),
                        "program: --flag takes no value; `program --help` explains\n");
}

TEST(an_error_can_be_read_without_being_printed) {
    pto_arguments_t arguments;
    pto_error_t err = {0};
    char *wrong[] = {(char[]){"program"}, (char[]){"--flag=1"}, NULL};
    char *help[] = {(char[]){"program"}, (char[]){"--help"}, NULL};
    assert_int_equal(pto_arguments_read(&syntax, 2, wrong, &arguments, &err), PTO_EXIT_USAGE);
    assert_string_equal(err.message, "program: --flag takes no value; `program --help` explains");
    assert_int_equal(pto_arguments_read(&syntax, 2, help, &arguments, &err), PTO_EXIT_OK);
}

TEST(the_text_of_an_option_is_the_last_given_or_the_standard_one) {
    pto_arguments_t *arguments = PARSED(WORD("--flag"));
    assert_string_equal(pto_arguments_text(arguments, "text"), "usual");
    assert_null(pto_arguments_text(arguments, "flag"));
    arguments = PARSED(WORD("--text=a"), WORD("--text=b"));
    assert_string_equal(pto_arguments_text(arguments, "text"), "b");
}

/* --- the programs' own tables --------------------------------------------------------------------------- */

static void check_options(const pto_syntax_t *of) {
    const pto_option_t *option;
    const char *names[NAMES_MAX];
    for (int i = 0; (option = pto_syntax_option(of, i)); i++) {
        assert_true(i < NAMES_MAX);
        assert_non_null(option->help);
        assert_true((option->form == PTO_VALUE_OWN) == (option->apply != NULL));
        assert_true((option->form == PTO_VALUE_FLAG) <= (option->argument == NULL));
        assert_true(option->word_at || (option->form != PTO_VALUE_WORD && option->form != PTO_VALUE_NAME));
        assert_true(option->most > 0 || (option->form != PTO_VALUE_INT && option->form != PTO_VALUE_NUMBER));
        assert_true(strlen(option->name) < 60);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(names[k], option->name);
        names[i] = option->name;
    }
}

TEST(every_option_is_complete_and_unique_in_its_command) {
    const pto_command_t *command;
    for (int c = 0; (command = pto_command_at(c)); c++) {
        check_options(command->syntax);
        assert_int_equal(strncmp(command->syntax->program, "portolan ", 9), 0);
        assert_string_equal(command->syntax->program + 9, command->name);
    }
    for (int c = 0; (command = pto_program_at(c)); c++) {
        check_options(command->syntax);
        assert_string_equal(command->syntax->program, command->name);
    }
}

/* The executor's own words, which the command line cannot see. */
TEST(the_operations_are_the_executors) {
    for (int c = 0; pto_program_at(c); c++) {
        const pto_option_t *option;
        for (int i = 0; (option = pto_syntax_option(pto_program_at(c)->syntax, i)); i++) {
            if (strcmp(option->name, "op") != 0)
                continue;
            for (int op = 0; op < PTO_OP_COUNT; op++)
                assert_string_equal(option->word_at(op), pto_op_name((pto_op_t)op));
            assert_null(option->word_at(PTO_OP_COUNT));
            return;
        }
    }
    fail_msg("no program has --op");
}

static void assert_page_has(const char *page, const pto_syntax_t *of, const char *name) {
    char wanted[160];
    const pto_option_t *option;
    for (int i = 0; (option = pto_syntax_option(of, i)); i++) {
        int end = snprintf(wanted, sizeof wanted, "\\fB\\-\\-");
        for (const char *at = option->name; *at; at++)
            end += snprintf(wanted + end, sizeof wanted - (size_t)end, "%s%c", *at == '-' ? "\\" : "", *at);
        snprintf(wanted + end, sizeof wanted - (size_t)end, "\\fR");
        if (!strstr(page, wanted))
            fail_msg("%s has no --%s (of %s): make man", name, option->name, of->program);
    }
}

TEST(the_man_pages_have_every_command_and_option) {
    char *page = must_read_text("docs/man/portolan.1");
    const pto_command_t *command;
    for (int c = 0; (command = pto_command_at(c)); c++) {
        char wanted[160];
        snprintf(wanted, sizeof wanted, "\n.B %s\n", command->name);
        if (!strstr(page, wanted))
            fail_msg("docs/man/portolan.1 has no command %s", command->name);
        assert_page_has(page, command->syntax, "docs/man/portolan.1");
    }
    for (int c = 0; (command = pto_program_at(c)); c++) {
        char path[160];
        snprintf(path, sizeof path, "docs/man/%s.1", command->name);
        page = must_read_text(path);
        assert_page_has(page, command->syntax, path);
    }
}
