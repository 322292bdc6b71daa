CXX=no-such-compiler tools/deps.sh check "" test
