# Every program and library that is installed has a man page, as has every variable that one of them reads.
for name in portolan portolan-calibrate portolan-validate libportolan libportolan-mpi libportolan-profile libportolan-nccl-tuner; do
    ls docs/man/$name.[137]
done
grep -rhoE '"(PORTOLAN|NCCL)_[A-Z_]+"' dropin profile preload tuner impl calibrate model/command_line model/show model/export model/report model/tool --include=*.c | tr -d '"' | sort -u |
    while read -r name; do grep -q "$name" docs/man/*.[137] || echo "no page has $name"; done
for command in $(portolan --help | sed -n '/^commands:/,/^$/p' | awk '/^  [a-z]/ { print $1 }'); do
    grep -q "^\.B portolan $command" docs/man/portolan.1 || echo "portolan.1 lacks $command"
done
