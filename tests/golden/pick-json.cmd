portolan pick scenarios/problems/messages-many-summit.yaml --format json
