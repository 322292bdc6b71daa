# A message between unlike spaces has the price of the dearer of the two, and the table says so.
for spaces in cpu,gpu gpu,gpu; do portolan predict --machine summit-spectrum-refit --collective pair --distance on_socket --bytes 1KiB:1MiB:32 --spaces $spaces; done
portolan predict --machine summit-spectrum-refit --collective pair --distance on_socket --bytes 1KiB --spaces cpu,gpu --strategy three_step
