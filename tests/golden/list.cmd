portolan list
