/* portolan completion: prints the completion scripts of bash and zsh, and the OPTIONS sections of man pages,
 * from the tables of options of all commands and programs. The functions begin with the language that they
 * print: bash_, zsh_, or roff_ for man pages. `make man` puts those sections into docs/man. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "command.h"

static const char usage[] =
    "usage: portolan completion bash|zsh|machines|scenarios|workloads|man [PROGRAM]\n\n"
    "Prints a script with which a shell completes commands, options and their values, of portolan,\n"
    "portolan-calibrate and portolan-validate; the names of machines, scenarios or workloads that these\n"
    "scripts complete; or the OPTIONS section of a program's man page.\n\n"
    "In ~/.bashrc:\n\n"
    "  source <(portolan completion bash)\n\n"
    "For zsh, into a folder of $fpath:\n\n"
    "  portolan completion zsh > ~/.zfunc/_portolan\n";

/* Whether the value is a machine, by file or name: option tables say so by the value's name in --help. */
static bool is_machine(const pto_option_t *option) {
    return option->argument && strcmp(option->argument, "FILE|NAME") == 0;
}

static bool is_file(const pto_option_t *option) {
    return option->argument && strstr(option->argument, "FILE") != NULL;
}

static void print_words(const char *(*word_at)(int i)) {
    for (int i = 0; word_at(i); i++)
        printf("%s%s", i ? " " : "", word_at(i));
}

/* The i-th kind of names that a command takes as its first operand, as `portolan completion` calls it; NULL
 * after the last one. */
static const char *kind_of_names(const pto_syntax_t *syntax, int i) {
    const char *names[] = {NULL, NULL, NULL};
    int count = 0;
    if (syntax->by_name & PTO_NAMES_SCENARIOS)
        names[count++] = "scenarios";
    if (syntax->by_name & PTO_NAMES_WORKLOADS)
        names[count++] = "workloads";
    return names[i];
}

/* The commands, then the other programs; NULL after the last one. */
static const pto_command_t *subject_at(int i) {
    int commands = 0;
    while (commands < i && pto_command_at(commands))
        commands++;
    return pto_command_at(i) ? pto_command_at(i) : pto_program_at(i - commands);
}

/* Print a text in which the `@` at the end of a line is replaced by the names of all programs. */
static void print_with_programs(const char *text) {
    const char *list = strstr(text, "@\n");
    printf("%.*sportolan", (int)(list - text), text);
    for (int i = 0; pto_program_at(i); i++)
        printf(" %s", pto_program_at(i)->name);
    fputs(list + 1, stdout);
}

/* Print the cases of a command's options: the words and files that complete the value of each. */
static void bash_values(const pto_command_t *command) {
    const pto_option_t *option;
    for (int i = 0; (option = pto_syntax_option(command->syntax, i)); i++) {
        if (!option->argument)
            continue;
        printf("    %s:--%s) ", command->name, option->name);
        if (option->word_at) {
            printf("words='");
            print_words(option->word_at);
            printf("' ;;\n");
        } else if (is_machine(option)) {
            printf("words=$(portolan completion machines 2>/dev/null) files='*' ;;\n");
        } else {
            printf("files='%s' ;;\n", is_file(option) ? "*" : "");
        }
    }
}

/* Print the case of a command: the options, words and files that complete its arguments. */
static void bash_command(const pto_command_t *command) {
    const pto_syntax_t *syntax = command->syntax;
    const pto_option_t *option;
    printf("    %s:*) words='", command->name);
    for (int i = 0; (option = pto_syntax_option(syntax, i)); i++)
        printf("--%s ", option->name);
    printf("--help");
    if (syntax->operand_at) {
        putchar(' ');
        print_words(syntax->operand_at);
    }
    putchar('\'');
    for (int i = 0; kind_of_names(syntax, i); i++)
        printf(" words+=\" $(portolan completion %s 2>/dev/null)\"", kind_of_names(syntax, i));
    printf(" files='%s' ;;\n", syntax->operand ? syntax->operand : "");
}

static const char bash_head[] =
    "# bash completion for portolan, made by `portolan completion bash`.\n"
    "_portolan() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words='' files=''\n"
    "    local command=${COMP_WORDS[0]##*/} commands='@'\n"
    "    COMPREPLY=()\n"
    "    # --option=value comes as three words.\n"
    "    if [[ $current == = ]]; then\n"
    "        current=''\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if [[ $command == portolan && $COMP_CWORD -gt 1 ]]; then\n"
    "        command=${COMP_WORDS[1]}\n"
    "    fi\n"
    "    case $command:$before in\n"
    "    portolan:*) words=\"--help --version help $commands\" ;;\n"
    "    help:*) words=$commands ;;\n";

static const char bash_tail[] = "    esac\n"
                                "    # Not by compgen -W, which would expand the words as a command line.\n"
                                "    local word list\n"
                                "    IFS=$' \\n' read -r -d '' -a list <<<\"$words\"\n"
                                "    for word in \"${list[@]}\"; do\n"
                                "        [[ $word != \"$current\"* ]] || COMPREPLY+=(\"$word\")\n"
                                "    done\n"
                                "    if [[ -n $files && $current != -* ]]; then\n"
                                "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(\n"
                                "            compgen -d -- \"$current\"\n"
                                "            compgen -f -X \"!$files\" -- \"$current\"\n"
                                "        )\n"
                                "        compopt -o filenames 2>/dev/null\n"
                                "    fi\n"
                                "}\n"
                                "complete -F _portolan @\n";

static void print_bash(void) {
    const char *list = strchr(bash_head, '@'); /* place for the commands' names */
    printf("%.*s", (int)(list - bash_head), bash_head);
    for (int i = 0; pto_command_at(i); i++)
        printf("%s%s", i ? " " : "", pto_command_at(i)->name);
    fputs(list + 1, stdout);
    for (int i = 0; subject_at(i); i++) {
        bash_values(subject_at(i));
        bash_command(subject_at(i));
    }
    print_with_programs(bash_tail);
}

/* Print text for within single quotes, with `special` characters, which _arguments interprets, escaped. */
static void zsh_text(const char *text, const char *special) {
    for (; *text; text++)
        if (*text == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static void zsh_option(const pto_option_t *option) {
    printf("      '*--%s%s[", option->name, option->argument ? "=" : "");
    zsh_text(option->help, "[]:");
    putchar(']');
    if (option->argument) {
        putchar(':');
        zsh_text(option->argument, ":");
        putchar(':');
        if (option->word_at) {
            putchar('(');
            print_words(option->word_at);
            putchar(')');
        } else if (is_machine(option)) {
            printf(" _portolan_names machines");
        } else if (is_file(option)) {
            printf("_files");
        }
    }
    printf("' \\\n");
}

static void zsh_command(const pto_command_t *command) {
    const pto_syntax_t *syntax = command->syntax;
    const pto_option_t *option;
    printf("  %s)\n    _arguments \\\n", command->name);
    for (int i = 0; (option = pto_syntax_option(syntax, i)); i++)
        zsh_option(option);
    printf("      '--help[this text]'");
    if (syntax->by_name) {
        printf(" \\\n      '*:file: _portolan_names");
        for (int i = 0; kind_of_names(syntax, i); i++)
            printf(" %s", kind_of_names(syntax, i));
        putchar('\'');
    } else if (syntax->operand) {
        printf(" \\\n      '*:file:_files -g \"%s\"'", syntax->operand);
    }
    if (syntax->operand_at) {
        printf(" \\\n      '*:word:(");
        print_words(syntax->operand_at);
        printf(")'");
    }
    printf("\n    ;;\n");
}

static const char zsh_head[] = "#compdef @\n"
                               "# zsh completion for portolan, made by `portolan completion zsh`.\n"
                               "_portolan_names() {\n"
                               "  local -a names\n"
                               "  local kind\n"
                               "  for kind; do\n"
                               "    names+=(${(f)\"$(portolan completion $kind 2>/dev/null)\"})\n"
                               "  done\n"
                               "  compadd -a names\n"
                               "  _files -g '*.yaml'\n"
                               "}\n\n"
                               "_portolan() {\n"
                               "  local -a commands\n"
                               "  commands=(\n"
                               "    'help:explain a command'\n";

static const char zsh_middle[] = "  )\n"
                                 "  local command=${words[1]:t}\n"
                                 "  if [[ $command == portolan ]]; then\n"
                                 "    if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
                                 "      _describe command commands\n"
                                 "      return\n"
                                 "    fi\n"
                                 "    command=$words[2]\n"
                                 "    shift words\n"
                                 "    (( CURRENT-- ))\n"
                                 "  fi\n"
                                 "  case $command in\n";

static const char zsh_tail[] = "  esac\n"
                               "}\n\n"
                               "if [[ $funcstack[1] == _portolan ]]; then\n"
                               "  _portolan \"$@\"\n"
                               "else\n"
                               "  compdef _portolan @\n"
                               "fi\n";

static void print_zsh(void) {
    print_with_programs(zsh_head);
    for (int i = 0; pto_command_at(i); i++) {
        printf("    '%s:", pto_command_at(i)->name);
        zsh_text(pto_command_at(i)->summary, "");
        printf("'\n");
    }
    fputs(zsh_middle, stdout);
    for (int i = 0; subject_at(i); i++)
        zsh_command(subject_at(i));
    print_with_programs(zsh_tail);
}

static void roff_text(const char *text) {
    for (; *text; text++)
        printf("%s%c", strchr("-\\", *text) ? "\\" : "", *text);
}

static void roff_option(const pto_option_t *option) {
    printf(".TP\n\\fB\\-\\-");
    roff_text(option->name);
    printf("\\fR");
    if (option->argument) {
        printf(" \\fI");
        roff_text(option->argument);
        printf("\\fR");
    }
    putchar('\n');
    roff_text(option->help);
    if (option->standard) {
        printf(" (default ");
        roff_text(option->standard);
        putchar(')');
    }
    putchar('\n');
}

static bool is_shared(const pto_option_t *option) {
    return option == pto_machine_options || option == pto_scenario_options || option == pto_change_options;
}

/* The options that commands share, or those of one command. */
static void roff_sets(const pto_syntax_t *syntax, bool shared) {
    for (const pto_option_set_t *set = syntax->set; set->option; set++)
        if (is_shared(set->option) == shared)
            for (const pto_option_t *option = set->option; option->name; option++)
                roff_option(option);
}

/* Whether a command has this set of options. */
static bool takes(const pto_syntax_t *syntax, const pto_option_t *options) {
    for (const pto_option_set_t *set = syntax->set; set->option; set++)
        if (set->option == options)
            return true;
    return false;
}

static const char *program_name_at(int i) { return pto_program_at(i) ? pto_program_at(i)->name : NULL; }

/* The section on the scenario options: which commands have them, and the options. */
static void roff_scenario_options(const pto_syntax_t *syntax, bool of_commands) {
    const char *between = " ";
    printf(".SS Overriding the scenario, or instead of one\n");
    if (of_commands) {
        printf("Of");
        for (int i = 0; pto_command_at(i); i++)
            if (takes(pto_command_at(i)->syntax, pto_scenario_options)) {
                printf("%s%s", between, pto_command_at(i)->name);
                between = ", ";
            }
        printf("; with");
    } else {
        printf("With");
    }
    printf(" enough of them no scenario file is needed.\n");
    roff_sets(syntax, true);
}

static void print_commands_man(void) {
    roff_scenario_options(pto_command_predict.syntax, true);
    for (int i = 0; pto_command_at(i); i++) {
        const pto_command_t *command = pto_command_at(i);
        if (command->syntax->set->option == pto_no_options)
            continue;
        printf(".SS portolan %s\n", command->name);
        if (!takes(command->syntax, pto_scenario_options))
            roff_sets(command->syntax, true);
        roff_sets(command->syntax, false);
    }
}

static pto_status_t print_man(const char *program, pto_error_t *err) {
    int found;
    if (!program || strcmp(program, "portolan") == 0) {
        print_commands_man();
        return PTO_OK;
    }
    pto_status_t status = pto_word_parse(program, "program", program_name_at, &found, err);
    if (status != PTO_OK)
        return status;
    const pto_syntax_t *syntax = pto_program_at(found)->syntax;
    roff_sets(syntax, false);
    if (takes(syntax, pto_scenario_options))
        roff_scenario_options(syntax, false);
    return PTO_OK;
}

enum { BASH, ZSH, MACHINES, SCENARIOS, WORKLOADS, MAN };

static PTO_WORD_LIST(kind_at, "bash", "zsh", "machines", "scenarios", "workloads", "man");

static const pto_syntax_t syntax = {.program = "portolan completion",
                                    .usage = usage,
                                    .set = PTO_SETS({"options", pto_no_options}),
                                    .operand_at = kind_at};

static int print(const pto_arguments_t *arguments) {
    int kind;
    int count = arguments->operand_count;
    pto_error_t err = {0};
    if (count == 0)
        return pto_usage_error(&syntax, "one of bash, zsh, machines, scenarios, workloads and man is needed");
    pto_status_t status = pto_word_parse(arguments->operand[0], "shell", kind_at, &kind, &err);
    bool man = status == PTO_OK && kind == MAN;
    if (status == PTO_OK && count > 1 + man)
        return pto_usage_error(&syntax, "'%s' is one word too many", arguments->operand[1 + man]);
    if (man)
        status = print_man(count > 1 ? arguments->operand[1] : NULL, &err);
    else if (status == PTO_OK && kind == BASH)
        print_bash();
    else if (status == PTO_OK && kind == ZSH)
        print_zsh();
    else if (status == PTO_OK)
        pto_print_names(kind == MACHINES    ? PTO_FOLDER_MACHINES
                        : kind == SCENARIOS ? PTO_FOLDER_PROBLEMS
                                            : PTO_FOLDER_WORKLOADS,
                        "");
    return status == PTO_OK ? pto_flush_output() : pto_usage_error(&syntax, "%s", err.message);
}

const pto_command_t pto_command_completion = {.name = "completion",
                                              .summary = "print a script that completes commands and options",
                                              .syntax = &syntax,
                                              .run = print};
