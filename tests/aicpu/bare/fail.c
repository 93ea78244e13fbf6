// SPDX-License-Identifier: Apache-2.0
/* Fails with number 21. */
#include "bare.h"

int test_main(unsigned hart)
{
    finish(21);
}
