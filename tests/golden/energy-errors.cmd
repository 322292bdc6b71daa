for option in "predict --energy" "pick --by energy" "pick --by product" "pick --by watts"; do portolan $option --machine summit-spectrum --collective alltoall --nodes 2 --bytes 8; done
