portolan list --parameters | grep -A1 "not priced"
