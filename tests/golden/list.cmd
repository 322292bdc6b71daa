portolan list | awk '/^[a-z]+:$/ { kind = $1; n = 0 } kind != "parameters:" || n++ < 5'
