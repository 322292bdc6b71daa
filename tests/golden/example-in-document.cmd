# docs/executing.md shows docs/examples/execute.c as it is: no difference.
sed -n '/^```c$/,/^```$/p' docs/executing.md | sed '1d;$d' | diff - docs/examples/execute.c && echo same
