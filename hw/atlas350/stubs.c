/*
 * Atlas 350 virtual card: monitor commands of a build without the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-atlas350.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"

Atlas350InfoList *qmp_query_atlas350(Error **errp)
{
    return NULL;
}

Atlas350WaitList *qmp_query_atlas350_waits(Error **errp)
{
    return NULL;
}

void qmp_atlas350_inject_link_error(const char *card, bool has_jetty,
                                    uint32_t jetty, Atlas350LinkError error,
                                    bool has_count, uint32_t count,
                                    Error **errp)
{
    error_setg(errp, "this QEMU has no Atlas 350 device");
}

void hmp_info_atlas350(Monitor *mon, const QDict *qdict)
{
    monitor_printf(mon, "this QEMU has no Atlas 350 device\n");
}
