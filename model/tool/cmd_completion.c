/* portolan completion: shell completion and the man page's options, generated from the option tables. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "options.h"

static const char usage[] =
    "usage: portolan completion bash|zsh|man\n"
    "\n"
    "Prints a script with which a shell completes commands, options and their values, or the OPTIONS "
    "section\n"
    "of the man page.\n"
    "\n"
    "  source <(portolan completion bash)                                  in ~/.bashrc\n"
    "  portolan completion zsh > ~/.zfunc/_portolan                        in a folder of $fpath\n";

/* A machine argument can be a file or a name. */
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

/* --- bash ---------------------------------------------------------------------------------------------- */

static void bash_values(const pto_command_t *command) {
    const pto_option_t *option;
    for (int i = 0; (option = pto_syntax_option(command->syntax, i)); i++) {
        if (!option->argument)
            continue;
        printf("    *:%s:--%s) ", command->name, option->name);
        if (option->word_at) {
            printf("words='");
            print_words(option->word_at);
            printf("' ;;\n");
        } else if (is_machine(option)) {
            printf("words=$(_portolan_machines) files='*' ;;\n");
        } else {
            printf("files='%s' ;;\n", is_file(option) ? "*" : "");
        }
    }
}

static void bash_command(const pto_command_t *command) {
    const pto_syntax_t *syntax = command->syntax;
    const pto_option_t *option;
    printf("    *:%s:*) words='", command->name);
    for (int i = 0; (option = pto_syntax_option(syntax, i)); i++)
        printf("--%s ", option->name);
    printf("--help");
    if (syntax->operand_at) {
        putchar(' ');
        print_words(syntax->operand_at);
    }
    printf("' files='%s' ;;\n", syntax->operand ? syntax->operand : "");
}

static const char bash_head[] =
    "# bash completion for portolan, made by `portolan completion bash`.\n"
    "_portolan_machines() {\n"
    "    portolan list machines 2>/dev/null | sed -n 's/^  \\([^ ]*\\).*/\\1/p'\n"
    "}\n"
    "\n"
    "_portolan() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words='' files=''\n"
    "    local commands='@'\n"
    "    COMPREPLY=()\n"
    "    # --option=value comes as three words.\n"
    "    if [[ $current == = ]]; then\n"
    "        current=''\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    case $COMP_CWORD:${COMP_WORDS[1]}:$before in\n"
    "    1:*) words=\"--help --version help $commands\" ;;\n"
    "    *:help:*) words=$commands ;;\n";

static const char bash_tail[] = "    esac\n"
                                "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                                "    if [[ -n $files && $current != -* ]]; then\n"
                                "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(\n"
                                "            compgen -d -- \"$current\"\n"
                                "            compgen -f -X \"!$files\" -- \"$current\"\n"
                                "        )\n"
                                "        compopt -o filenames 2>/dev/null\n"
                                "    fi\n"
                                "}\n"
                                "complete -F _portolan portolan\n";

static void print_bash(void) {
    const char *list = strchr(bash_head, '@'); /* place for the commands' names */
    printf("%.*s", (int)(list - bash_head), bash_head);
    for (int i = 0; pto_command_at(i); i++)
        printf("%s%s", i ? " " : "", pto_command_at(i)->name);
    fputs(list + 1, stdout);
    for (int i = 0; pto_command_at(i); i++) {
        bash_values(pto_command_at(i));
        bash_command(pto_command_at(i));
    }
    fputs(bash_tail, stdout);
}

/* --- zsh ----------------------------------------------------------------------------------------------- */

/* Text inside single quotes, with escapes for the characters that _arguments interprets. */
static void zsh_text(const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
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
            printf("_portolan_machines");
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
    if (syntax->operand)
        printf(" \\\n      '*:file:_files -g \"%s\"'", syntax->operand);
    if (syntax->operand_at) {
        printf(" \\\n      '*:word:(");
        print_words(syntax->operand_at);
        printf(")'");
    }
    printf("\n    ;;\n");
}

static const char zsh_head[] =
    "#compdef portolan\n"
    "# zsh completion for portolan, made by `portolan completion zsh`.\n"
    "_portolan_machines() {\n"
    "  local -a machines\n"
    "  machines=(${(f)\"$(portolan list machines 2>/dev/null | sed -n 's/^  \\([^ ]*\\).*/\\1/p')\"})\n"
    "  compadd -a machines\n"
    "  _files\n"
    "}\n"
    "\n"
    "_portolan() {\n"
    "  local -a commands\n"
    "  commands=(\n"
    "    'help:explain a command'\n";

static const char zsh_middle[] = "  )\n"
                                 "  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
                                 "    _describe command commands\n"
                                 "    return\n"
                                 "  fi\n"
                                 "  local command=$words[2]\n"
                                 "  shift words\n"
                                 "  (( CURRENT-- ))\n"
                                 "  case $command in\n";

static const char zsh_tail[] = "  esac\n"
                               "}\n"
                               "\n"
                               "if [[ $funcstack[1] == _portolan ]]; then\n"
                               "  _portolan \"$@\"\n"
                               "else\n"
                               "  compdef _portolan portolan\n"
                               "fi\n";

static void print_zsh(void) {
    fputs(zsh_head, stdout);
    for (int i = 0; pto_command_at(i); i++) {
        printf("    '%s:", pto_command_at(i)->name);
        zsh_text(pto_command_at(i)->summary, "");
        printf("'\n");
    }
    fputs(zsh_middle, stdout);
    for (int i = 0; pto_command_at(i); i++)
        zsh_command(pto_command_at(i));
    fputs(zsh_tail, stdout);
}

/* --- the man page -------------------------------------------------------------------------------------- */

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

static bool takes(const pto_syntax_t *syntax, const pto_option_t *options) {
    for (const pto_option_set_t *set = syntax->set; set->option; set++)
        if (set->option == options)
            return true;
    return false;
}

static void print_man(void) {
    printf(".SS Overriding the scenario, or instead of one\nOf");
    const char *between = " ";
    for (int i = 0; pto_command_at(i); i++)
        if (takes(pto_command_at(i)->syntax, pto_scenario_options)) {
            printf("%s%s", between, pto_command_at(i)->name);
            between = ", ";
        }
    printf("; with enough of them no scenario file is needed.\n");
    roff_sets(pto_command_predict.syntax, true);
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

/* --- the command --------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*print)(void);
} kinds[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"man", print_man}};

static const char *kind_at(int i) { return i < (int)(sizeof kinds / sizeof *kinds) ? kinds[i].name : NULL; }

static const pto_option_set_t option_sets[] = {{"options", pto_no_options}, {NULL, NULL}};

static const pto_syntax_t syntax = {
    .program = "portolan completion", .usage = usage, .set = option_sets, .operand_at = kind_at};

static int print(const pto_arguments_t *arguments) {
    int kind;
    pto_error_t err = {0};
    if (arguments->operand_count != 1)
        return pto_usage_error(&syntax, "one of bash, zsh and man is needed");
    if (pto_word_parse(arguments->operand[0], "shell", kind_at, &kind, &err) != PTO_OK)
        return pto_usage_error(&syntax, "%s", err.message);
    kinds[kind].print();
    return pto_flush_output();
}

static int run(int argc, char **argv) {
    pto_arguments_t arguments;
    int code = pto_arguments_parse(&syntax, argc, argv, &arguments);
    if (code >= 0)
        return code;
    code = print(&arguments);
    pto_arguments_fini(&arguments);
    return code;
}

const pto_command_t pto_command_completion = {.name = "completion",
                                              .summary = "print a script that completes commands and options",
                                              .syntax = &syntax,
                                              .run = run};
