# `help COMMAND` is `COMMAND --help`, for every command.
for command in pick plan check list fit sensitivity score completion; do portolan help $command; done
