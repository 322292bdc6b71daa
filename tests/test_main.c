/* For the programs without a main of their own. */
#include "test.h"

int main(void) { return run_all_tests(NULL, NULL); }
