#!/usr/bin/env bash
# One would guess that SCOTCH counts fixed vertices when it balances: with half of a graph fixed in one of four parts,
# that part gets no other vertex, and holds 128 of 256.
# Only the free vertices are balanced, as if there were no others: each part gets a quarter of them. The part holds 160,
# the others 32 each, at a target of 64; SCOTCH_graphPartFixed returns 0. With 64 fixed, where four equal parts are
# possible, it makes 112, 48, 48 and 48.
# SCOTCH 7.0.3-2 (Debian 12), default strategy; a 16 x 16 grid; the same on one CPU as on two. F fixed vertices make a
# part of F + (256 - F) / 4, at each F that was tried from 0 to 192.
. "$(dirname "$0")/packages.sh"
unpack libscotch-7.0=7.0.3-2 libscotch-dev=7.0.3-2
cat >"$work/fixed.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <scotch.h>

enum { SIDE = 16, COUNT = SIDE * SIDE, PARTS = 4 };

int main(int argc, char **argv) {
    static SCOTCH_Num first[COUNT + 1], peer[4 * COUNT], part[COUNT];
    SCOTCH_Num edges = 0;
    int fixed = argc > 1 ? atoi(argv[1]) : 0, size[PARTS] = {0};
    for (int v = 0; v < COUNT; v++) {
        first[v] = edges;
        if (v >= SIDE)
            peer[edges++] = v - SIDE;
        if (v < COUNT - SIDE)
            peer[edges++] = v + SIDE;
        if (v % SIDE > 0)
            peer[edges++] = v - 1;
        if (v % SIDE < SIDE - 1)
            peer[edges++] = v + 1;
        part[v] = v < fixed ? 0 : -1;
    }
    first[COUNT] = edges;
    SCOTCH_Graph graph;
    SCOTCH_Strat strategy;
    SCOTCH_graphInit(&graph);
    SCOTCH_stratInit(&strategy);
    SCOTCH_graphBuild(&graph, 0, COUNT, first, NULL, NULL, NULL, edges, peer, NULL);
    if (SCOTCH_graphCheck(&graph) != 0 || SCOTCH_graphPartFixed(&graph, PARTS, &strategy, part) != 0)
        return 1;
    for (int v = 0; v < COUNT; v++)
        size[part[v]]++;
    printf("%d %d %d %d\n", size[0], size[1], size[2], size[3]);
    return 0;
}
END
compile "$work/fixed.c" "$work/fixed" -I"$root/usr/include/scotch" -lscotch -lscotcherr -lm -lz -lpthread
export LD_LIBRARY_PATH=$library
expect "no vertex fixed" "64 64 64 64" "$("$work/fixed" 0)"
expect "64 fixed in the first part" "112 48 48 48" "$("$work/fixed" 64)"
expect "128 fixed in the first part" "160 32 32 32" "$("$work/fixed" 128)"
exit "$failed"
