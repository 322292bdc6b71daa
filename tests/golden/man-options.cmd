# The man page has the options as the table has them (`make man` writes them): no difference.
sed -n '/^\.\\" options:/,/^\.\\" end of options/p' docs/man/portolan.1 | sed '1d;$d' | diff - <(portolan completion man) && echo same
