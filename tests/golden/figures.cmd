# The committed figures are those that the tree draws (`make figures`); needs no gnuplot.
BUILD=$(dirname "$(command -v portolan)") tools/figures.sh --check docs/figures && echo "as drawn"
