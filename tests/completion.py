"""TAB in interactive shells: completion.py PORTOLAN. In a folder whose machine files have names that a shell could take
for commands, bash and zsh complete by the names that are words, and run none of the others."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

PROMPT = "ready> "
programs = os.path.dirname(os.path.abspath(sys.argv[1]))
with open("scenarios/machines/summit-spectrum.yaml", encoding="utf-8") as machine_file:
    MACHINE = machine_file.read()
# The names of files, and what `machine:` says in them. Each would leave a file `ran`.
HOSTILE = {
    "plain-one": "$(touch${IFS}ran)",
    "plain-two": "`touch${IFS}ran`",
    "$(touch ran)": "plain-three",
    "$(touch${IFS}ran)": "$(touch${IFS}ran)",
    "plain`touch ran`": "plain-four",
    "plain;touch ran;": "plain-five",
    "plain\ntouch ran\n": "plain-six",
    "--what-if": "plain-seven",
}
SHELLS = {
    # A pager or a question before a long list would take the next key.
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "bind 'set page-completions off' 'set completion-query-items 0'; source <(portolan completion bash)",
    ),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; source <(portolan completion zsh)"),
}
# What is typed, and the names that the shell must then show.
LISTED = [
    ("portolan predict --machine \t\t", ["plain-one", "plain-two"]),
    ("portolan predict --machine=\t\t", ["plain-one", "plain-two"]),
    ("portolan predict --machine $\t\t", []),
    ("portolan predict \t\t", ["a-problem"]),
    ("portolan step \t\t", ["a-workload"]),
    ("portolan upgrade \t\t", ["a-problem", "a-workload"]),
    ("portolan-validate \t\t", ["a-problem"]),
    ("portolan predict scenarios/machines/\t\t", []),
    ("portolan predict 'scenarios/machines/$\t\t", []),
]
# What is typed, and the line that it becomes.
COMPLETED = [
    ("portolan predict --machine plain-o\t", "portolan predict --machine plain-one"),
    ("portolan predict a-p\t", "portolan predict a-problem"),
    ("portolan step a-w\t", "portolan step a-workload"),
    ("portolan pick --collective allg\t", "portolan pick --collective allgather"),
]


def make_folder(folder):
    machines = os.path.join(folder, "scenarios", "machines")
    os.makedirs(machines)
    for name, machine in HOSTILE.items():
        text = MACHINE.replace("machine: summit-spectrum\n", f"machine: '{machine}'\n")
        with open(os.path.join(machines, name + ".yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        with open(os.path.join(folder, name + ".yaml"), "w", encoding="utf-8") as file:
            file.write(text)
    # Of scenarios and workloads, only the names of files are read.
    for kind, plain in (("problems", "a-problem"), ("workloads", "a-workload")):
        os.makedirs(os.path.join(folder, "scenarios", kind))
        for name in [plain, *HOSTILE]:
            with open(os.path.join(folder, "scenarios", kind, name + ".yaml"), "w", encoding="utf-8"):
                pass


class Terminal:
    """A shell on a pseudo-terminal."""

    def __init__(self, command, folder):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            keep = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS") if name in os.environ}
            environment = {"PATH": programs + ":" + os.environ["PATH"], "TERM": "dumb", "HOME": folder, "PS1": PROMPT, **keep}
            os.execvpe(command[0], command, environment)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_to_prompt(self, end, limit_s=600):
        """What the shell shows until it prompts after `end`: only then it reads keys one by one, TAB among them."""
        seen = ""
        stop = time.monotonic() + limit_s
        while PROMPT not in seen.partition(end)[2]:
            if time.monotonic() > stop:
                sys.exit(f"no prompt after {end!r} in {limit_s} s: {seen!r}")
            if select.select([self.terminal], [], [], 1)[0]:
                seen += os.read(self.terminal, 65536).decode(errors="replace")
        return seen

    def run(self, line):
        """Run a command line. Its echo does not have the end that is looked for."""
        self.type(line + "; echo do''ne\n")
        return self.read_to_prompt("done")

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


def has_run(folder):
    """Whether a name was run since the last call."""
    ran = os.path.join(folder, "ran")
    if not os.path.exists(ran):
        return False
    os.remove(ran)
    return True


# Keys are read in order, so that what follows TAB is only read once the completion is over.
BEGIN_OF_LINE, DISCARD_LINE = "\x01", "\x15"


def try_shell(name, folder):
    command, begin = SHELLS[name]
    faults = []
    terminal = Terminal(command, folder)
    terminal.run("true")
    terminal.run(begin)
    for typed, expected in LISTED:
        terminal.type(typed + DISCARD_LINE)
        seen = terminal.run("true")
        faults += [f"{typed!r} does not show {word}" for word in expected if word not in seen]
        if has_run(folder):
            faults.append(f"{typed!r} runs what a machine file names")
    for typed, line in COMPLETED:
        terminal.type(typed + BEGIN_OF_LINE + "echo \n")
        if line not in terminal.run("true"):
            faults.append(f"{typed!r} does not become {line!r}")
    # What is completed is quoted, so that running the line runs no name either.
    for typed in ("portolan predict $\t\n", "portolan predict ./plain\\;\t\n", "portolan predict ./plain\\`\t\n"):
        terminal.type(typed)
        terminal.run("true")
        if has_run(folder):
            faults.append(f"{typed!r} runs the name of a file")
    terminal.close()
    return faults


def list_names(folder):
    """Faults of the names that both complete by. The folders of the source tree have names, too."""
    faults = []
    for kind, plain in (("machines", "plain-one"), ("scenarios", "a-problem"), ("workloads", "a-workload")):
        run = subprocess.run([sys.argv[1], "completion", kind], cwd=folder, capture_output=True, text=True, check=False)
        names = run.stdout.split("\n")[:-1]
        faults += [f"{name!r} is offered" for name in names if not re.fullmatch("[A-Za-z0-9._+][A-Za-z0-9._+-]*", name)]
        faults += [] if plain in names else [f"no {kind} are offered"]
    return faults


def main():
    sys.argv[1] = os.path.abspath(sys.argv[1])
    failed = 0
    for name in SHELLS:
        if not shutil.which(name):
            print(f"skipped: {name} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            make_folder(folder)
            for fault in try_shell(name, folder) + list_names(folder):
                failed += 1
                print(f"{name}: {fault}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
