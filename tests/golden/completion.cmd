# What bash completes at the end of a line, and what zsh is told of one option and one command.
source <(portolan completion bash)
complete_line() {
    read -ra COMP_WORDS <<<"${1//=/ = }"
    [[ $1 != *[\ =] ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _portolan
    echo "$1[TAB] ${COMPREPLY[*]}"
}
complete_line "portolan s"
complete_line "portolan help pr"
complete_line "portolan list m"
complete_line "portolan predict --e"
complete_line "portolan predict --collective al"
complete_line "portolan predict --collective=alltoall"
complete_line "portolan pick --explain --by "
complete_line "portolan score --by "
complete_line "portolan predict --machine lassen-mvapich2-"
complete_line "portolan predict --strategy three"
complete_line "portolan predict --nodes "
complete_line "portolan predict scenarios/problems/alltoall-s"
complete_line "portolan fit tests/fixtures/sa"
complete_line "portolan-validate --device "
complete_line "build/portolan-validate --placement=i"
complete_line "portolan-validate --col"
complete_line "portolan-calibrate --"
portolan completion zsh | sed -n '1,2p; /^  predict)/,/;;/{/--collective=\|--counts=\|--explain\|file:/p}; /^  list)/,/;;/p; $p'
! type zsh >/dev/null 2>&1 || portolan completion zsh | zsh -n
