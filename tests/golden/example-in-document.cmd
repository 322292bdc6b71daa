# docs/executing.md shows docs/examples/stream.c as it is: no difference.
sed -n '/^```c$/,/^```$/p' docs/executing.md | sed '1d;$d' | diff - docs/examples/stream.c && echo same
