# The man pages have the options as the tables have them (`make man` writes them): no difference.
for program in portolan portolan-calibrate portolan-validate; do
    sed -n '/^\.\\" options:/,/^\.\\" end of options/p' "docs/man/$program.1" | sed '1d;$d' |
        diff - <(portolan completion man $program) && echo "$program: same"
done
