portolan simulate --help
