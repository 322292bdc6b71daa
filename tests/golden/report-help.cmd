portolan report --help
