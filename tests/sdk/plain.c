/*
 * A kernel in C.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include "aicpu_api.h"

unsigned int hello(void *args)
{
    (void)args;
    printf("hello by gcc, core %u\n", a350_core_id());
    return 0;
}
