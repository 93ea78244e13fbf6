HXCOMM SPDX-License-Identifier: GPL-2.0-or-later

    {
        .name       = "atlas350",
        .args_type  = "",
        .params     = "",
        .help       = "show Atlas 350 cards and which queues wait for whom",
        .cmd        = hmp_info_atlas350,
    },

SRST
  ``info atlas350``
    Show the Atlas 350 cards and, for every blocked queue, what it waits for.
ERST
