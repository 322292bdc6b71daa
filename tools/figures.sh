#!/usr/bin/env bash
# figures.sh FOLDER : draw the figures of docs/figures/README.md into FOLDER, from the project's root.
# figures.sh --check FOLDER : say which figures in FOLDER are older than what would be drawn.
#
# FOLDER/drawn-from.txt has a checksum of what gnuplot was given for each figure. The check compares these, so that
# neither it nor its result depends on gnuplot.
#
# Each is drawn by `portolan predict --plot` from a scenario, except Figures 2, 4 and 5 of the paper and the calls until
# a setup is paid back, which overlay several predictions and are drawn from `portolan predict --format csv` or json.
# The files contain no dates, so the same gnuplot version writes identical files.
set -euo pipefail

BUILD=${BUILD:-build}
portolan=$BUILD/portolan
problems=scenarios/problems
check=
if [[ ${1:-} == --check ]]; then
    check=yes
    shift
fi
committed=${1:?figures.sh [--check] FOLDER}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
folder=${check:+$scratch/drawn}
folder=${folder:-$committed}
mkdir -p "$folder" "$scratch/bin"

gnuplot=$(command -v gnuplot) || gnuplot=
if [[ -z $gnuplot && -z $check ]]; then
    echo "figures.sh: gnuplot is needed (Debian package gnuplot-nox)" >&2
    exit 1
fi

# In gnuplot's place: keeps what it is given, the data files of an overlay included.
cat >"$scratch/bin/gnuplot" <<END
#!/usr/bin/env bash
set -euo pipefail
cat "\$@" >"$scratch/given"
{ grep -v '^set output' "$scratch/given" | sed 's|$scratch/||g'
  grep -o "'$scratch/[^' ]*'" "$scratch/given" | tr -d "'" | sort -u | grep -v '[.]svg\$' | xargs -r cat
} >"$scratch/hashed" || :
if [[ -z "$check" ]]; then exec "$gnuplot" "$scratch/given"; fi
END
chmod +x "$scratch/bin/gnuplot"
PATH=$scratch/bin:$PATH

# Each drawing is followed by its row of drawn-from.txt.
drawn() { # NAME
    echo "$(sha256sum <"$scratch/hashed" | cut -c 1-16)  $1.svg" >>"$scratch/drawn-from.txt"
    if [[ -z $check ]]; then echo "  $folder/$1.svg"; fi
}

draw() { # NAME SCENARIO [OPTIONS]
    local name=$1 scenario=$2
    shift 2
    "$portolan" predict "$problems/$scenario.yaml" --plot "$folder/$name.svg" "$@" >/dev/null
    drawn "$name"
}

# Rows "bytes seconds" of one strategy.
rows() { # STRATEGY SCENARIO [OPTIONS]
    local strategy=$1 scenario=$2
    shift 2
    "$portolan" predict "$problems/$scenario.yaml" --strategy "$strategy" --format csv "$@" |
        awk -F, '/^[0-9]/ && $6 != "" { print $1, $6 }'
}

# gnuplot's settings for several predictions over sizes; the lines to plot follow on standard input.
overlay() { # NAME TITLE KEY-TITLE [Y-LABEL Y-FORMAT KEY-PLACE]
    {
        cat <<END
set terminal svg size 800,560 background rgb 'white' noenhanced
set output '$folder/$1.svg'
set title '$2'
set logscale x 2
set logscale y 10
set xtics ('1' 1, '4' 4, '16' 16, '64' 64, '256' 256, '1 KiB' 1024, '4 KiB' 4096, '16 KiB' 16384, '64 KiB' 65536, \\
  '256 KiB' 262144, '1 MiB' 1048576, '4 MiB' 4194304, '16 MiB' 16777216)
set format y '${5:-%.0s %cs}'
set grid
set key ${6:-left} top title '$3'
set xlabel 'bytes'
set ylabel '${4:-time}'
END
        cat
        echo 'set output'
    } >"$scratch/script"
    gnuplot "$scratch/script"
    drawn "$1"
}

colours=('#0072B2' '#D55E00' '#009E73' '#CC79A7' '#E69F00' '#56B4E9' '#000000')

# Copies are free, since the paper's figure leaves them out; a single process does not split.
figure_4() {
    local free=() copy procs strategy line=0 comma='plot'
    for copy in h2d d2h; do
        free+=(--what-if "copies.$copy.on_socket.alpha_s=0" --what-if "copies.$copy.on_socket.beta_s_per_byte=0")
    done
    for procs in 1 2 4 10 20 40; do
        strategy=dup_devptr
        if ((procs == 1)); then strategy=three_step; fi
        rows "$strategy" messages-split-summit --procs-per-gpu "$procs" "${free[@]}" >"$scratch/split-$procs"
        printf "%s '%s' with lines lw 2 lc rgb '%s' title '%d'" "$comma" "$scratch/split-$procs" \
            "${colours[line]}" "$procs"
        comma=', '
        line=$((line + 1))
    done
    echo
}

# The next curve of a caller that counts its colours in `line` and begins with `comma` as plot. Of the two curves of
# a colour, the second is dotted and has no title.
curve() { # DATA TITLE [dotted]
    local dash="dt 1 title '$2'"
    if [[ ${3:-} == dotted ]]; then dash='dt 3 notitle'; fi
    printf "%s '%s' with lines lw 2 lc rgb '%s' %s" "$comma" "$1" "${colours[line]}" "$dash"
    comma=', '
}

# One message between processes at each distance, in GPU memory (solid) and host memory (dotted).
figure_2() {
    local distance space line=0 comma='plot'
    for distance in on_socket on_node off_node; do
        for space in gpu cpu; do
            rows cuda_aware pair-summit --distance "$distance" --spaces "$space,$space" >"$scratch/$distance-$space"
        done
        curve "$scratch/$distance-gpu" "$distance"
        curve "$scratch/$distance-cpu" "$distance" dotted
        line=$((line + 1))
    done
    echo
}

figure_5() { # MACHINE
    local messages strategy line=0 comma='plot'
    for messages in 1 2 5 10 20 50 100; do
        for strategy in cuda_aware three_step; do
            rows "$strategy" "messages-one-$1" --messages "$messages" >"$scratch/$1-$messages-$strategy"
        done
        curve "$scratch/$1-$messages-cuda_aware" "$messages"
        curve "$scratch/$1-$messages-three_step" "$messages" dotted
        line=$((line + 1))
    done
    echo
}

# Calls after which gsb's setup is paid back against the library's allreduce: rows "bytes calls".
payback() { # MACHINE PROCESSES
    "$portolan" predict --machine "$1" --collective allreduce --nodes 1 --gpus-per-node 1 --procs-per-gpu "$2" \
        --owners-per-gpu "$2" --bytes 4:16MiB --strategy gsb,cuda_aware --explain --format json |
        sed -n 's/.*"bytes": \([0-9]*\), "strategy": "gsb".*"calls": \([0-9][0-9]*\).*/\1 \2/p'
}

# Figure 3 of Faraji and Afsahi.
figure_payback() {
    local procs line=0 comma='plot' machines=scenarios/machines
    for procs in 4 8 16; do
        payback $machines/h200-x2.yaml "$procs" >"$scratch/payback-$procs"
        payback $machines/h200-x2-mps.yaml "$procs" >"$scratch/payback-mps-$procs"
        printf "%s '%s' with lines lw 2 lc rgb '%s' title '%d', '%s' with lines lw 2 dt 3 lc rgb '%s' notitle" "$comma" \
            "$scratch/payback-$procs" "${colours[line]}" "$procs" "$scratch/payback-mps-$procs" "${colours[line]}"
        comma=', '
        line=$((line + 1))
    done
    echo
}

figure_2 | overlay figure-2-summit 'one message on Summit: between GPUs (solid), between CPUs (dotted)' distance
draw summit-8-alltoall alltoall-summit-measured
draw figure-3a-summit messages-one-summit
draw figure-3b-lassen messages-one-lassen
figure_4 | overlay figure-4-summit 'one message between two Summit nodes, split over processes, without copies' processes
figure_5 summit | overlay figure-5a-summit 'messages between two Summit nodes: cuda_aware (solid), three_step (dotted)' messages
figure_5 lassen | overlay figure-5b-lassen 'messages between two Lassen nodes: cuda_aware (solid), three_step (dotted)' messages
figure_payback | overlay payback-h200 'calls of an allreduce until the setup of gsb is paid back: without MPS (solid), with (dotted)' \
    processes calls '%g' right
for collective in alltoall alltoallv; do
    draw "figure-6a-summit-$collective" "$collective-summit"
    draw "figure-6b-lassen-$collective" "$collective-lassen"
done
for machine in h200-x4 h200-2x2-tcp; do
    for collective in allreduce alltoall; do
        draw "$machine-$collective" "$collective-$machine" --measured "validate/results/$machine/collectives.csv"
    done
done

if [[ -z $check ]]; then
    mv "$scratch/drawn-from.txt" "$folder/drawn-from.txt"
elif ! diff "$committed/drawn-from.txt" "$scratch/drawn-from.txt"; then
    echo "figures.sh: these figures are older than what the tree draws; run \`make figures\`" >&2
    exit 1
fi
