#!/usr/bin/env bash
# One would guess that `ucx_info -e -u t` prints the thresholds of a connection: with UCX_TLS=tcp,self a rendezvous from
# some hundred KiB on, by UCX's model of the latency and bandwidth of TCP.
# Its endpoint leads to the process itself. `self` is among the transports, so eager messages are priced on it, and the
# rendezvous begins at its segment, 8 KiB: the threshold follows UCX_SELF_SEG_SIZE. That of ucp_tag_send_nbr, a constant
# (UCX_RNDV_SEND_NBR_THRESH), is 256 KiB in the same table.
# UCX 1.13.1-1 (Debian 12); `ucx_info -c` names both variables with their defaults.
. "$(dirname "$0")/packages.sh"
unpack ucx-utils=1.13.1-1 libucx0=1.13.1-1 libnuma1=2.0.16-1
export LD_LIBRARY_PATH=$library UCX_TLS=tcp,self UCX_NET_DEVICES=lo UCX_LOG_LEVEL=error

# rendezvous CALL: the first size that the table of an endpoint gives to the rendezvous
rendezvous() {
    "$root/usr/bin/ucx_info" -e -u t >"$work/table" 2>&1 || skip "ucx_info: $(tail -1 "$work/table")"
    sed -n "s/^# *$1: .*\.\.\([0-9]*\)\.\.<rndv>.*/\1/p" "$work/table"
}

expect "tag_send" 8192 "$(rendezvous tag_send)"
expect "tag_send_nbr" 262144 "$(rendezvous tag_send_nbr)"
expect "tag_send with UCX_SELF_SEG_SIZE=64k" 65536 "$(UCX_SELF_SEG_SIZE=64k rendezvous tag_send)"
expect "transport of eager messages" self/memory0.0 \
    "$(sed -n 's/^# *lane\[0\]: *0:\([^ ]*\) .* am .*/\1/p' "$work/table")"
exit "$failed"
