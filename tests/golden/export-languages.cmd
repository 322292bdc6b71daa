# Settings as other languages than shells set them, of Cray MPICH and UCC; what is not read is refused by its line.
export SOURCE_DATE_EPOCH=0
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
names=(MPICH_GPU_ALLREDUCE_USE_KERNEL MPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD)
check() { # LINE...: %1 and %2 are the names of two variables
    printf '%s\n' "$@" | sed "s/%1/${names[0]}/g; s/%2/${names[1]}/g" >"$dir/settings"
    portolan export --for "${target:-cray}" --machine dgx-h100 --nodes 2 --bytes 2KiB:4KiB --collective allreduce --check "$dir/settings" 2>&1 |
        sed "s|$dir/||g" | grep '^2 KiB .*CPU\|^4 KiB .*kernel \|^settings\|^2 KiB .*UCP\|conditional'
}
echo "= fish"; check 'set -x %1 1' 'set --global --export %2 "4096"' 'set -gx OTHER 1; echo $%2'
echo "= PowerShell"; check '$env:%1 = "1"; $Env:%2 = 4096' 'Write-Host $env:%1'
echo "= a container file"; check 'FROM ubuntu' 'ENV %1=1 \' '    %2=4096' 'RUN make'
check 'ENV %1 1' 'ENV %2   4096'
echo "= Compose"; check 'services:' '  job:' '    environment:' '      %1: "1"' '      %2: 4096'
check 'services:' '  job:' '    environment:' '      - %1=1' '      - "%2=4096"'
echo "= Kubernetes"; check 'env:' '- name: %1' '  value: "1"' '- name: %2' "  value: '4096'" '- name: NODE' '  valueFrom: {}'
check 'env:' '- {name: %1, value: "1"}' '- {name: %2, value: 4096}'
echo "= JSON"; check '{"env": {"%1": "1", "%2": 4096}}'
echo "= calls"; check 'setenv("%1", "1")' "pushenv('%2', '4096')"
check 'import os' 'os.environ["%1"] = "1"' "os.environ['%2'] = '4096'" 'print(os.environ.get("%1", "0"))'
echo "= what env prints"; check %1=1 %2=4096 'BASH_FUNC_module%%=() {  eval `modulecmd bash $*`' '}'
echo "= quotes, and a line with its command"; check '%1="1"' "%2='4096'"
check '%1=1 %2=4096 srun ./program'
echo "= not read"
check 'set %1=1'
check 'PE 0: MPICH environment settings' 'PE 0:   %1 : 1'
check 'import os' 'os.environ.setdefault("X", "%1")'
check 'env:' '- name: %1' '  valueFrom: {}'
check '$env:%1 = "2"'
check 'set -x %1 1' 'set -x %1 0'
echo "= UCC"; target=ucc names=(UCC_CL_BASIC_TLS); check 'services:' '      %1: ucp'; check 'set -gx %1 ucp'; check "'%1=ucp'" "- '%1=ucp'"
echo "= variables where other targets read rules"
target=openmpi-6 check 'set -x OMPI_MCA_coll_tuned_use_dynamic_rules 1'
target=openmpi-4.1 check 'ENV OMPI_MCA_coll_tuned_use_dynamic_rules=1'
target=mpich-4.0 check 'export MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring'
target=nccl check '- name: NCCL_ALGO' '  value: ring'
