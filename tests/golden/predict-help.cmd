portolan predict --help
