/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States in which a device cannot be used: each gives a code and one line.
 */
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>
#include "t.h"

/* A child process takes device 0; then this one wants it. */
static void busy(void)
{
    int up[2], down[2], status;
    const char *msg;
    char c;
    pid_t pid;

    CHECK(pipe(up) == 0 && pipe(down) == 0);
    pid = fork();
    if (pid == 0) {
        int rc = aclrtSetDevice(0);

        close(down[1]);
        if (write(up[1], "x", 1) != 1 || read(down[0], &c, 1) < 0) {
            _exit(2);
        }
        _exit(rc != 0);
    }
    CHECK(read(up[0], &c, 1) == 1);
    CODE(aclrtSetDevice(0), 207006);
    aclrtSetDevice(0);
    msg = aclGetRecentErrMsg();
    CHECK(msg && strstr(msg, "in use by process"));
    printf("%s\n", msg ? msg : "(no text)");
    OK(aclrtSetDevice(1));
    OK(aclrtResetDevice(1));
    close(down[1]);
    waitpid(pid, &status, 0);
    CHECK(status == 0);
    /* free again */
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
}

/* ASCEND_RT_VISIBLE_DEVICES=1 with two cards. */
static void visible(void)
{
    uint32_t n;
    int32_t id;

    OK(aclrtGetDeviceCount(&n));
    CHECK(n == 1);
    OK(aclrtGetLogicDevIdByUserDevId(0, &id));
    CHECK(id == 1);
    OK(aclrtGetUserDevIdByLogicDevId(1, &id));
    CHECK(id == 0);
    CODE(aclrtGetUserDevIdByLogicDevId(0, &id), 107001);
    CODE(aclrtSetDevice(1), 107001);
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
}

/* Takes the driver away from the only card. */
static void unbound(void)
{
    const char *dir = "/sys/bus/pci/drivers/vfio-pci", *msg;
    char path[512];
    struct dirent *e;
    DIR *d = opendir(dir);
    FILE *f;

    CHECK(d != NULL);
    while (d && (e = readdir(d))) {
        if (strchr(e->d_name, ':') && strchr(e->d_name, '.')) {
            snprintf(path, sizeof(path), "%s/unbind", dir);
            f = fopen(path, "w");
            CHECK(f && fputs(e->d_name, f) >= 0 && fclose(f) == 0);
            break;
        }
    }
    CODE(aclrtSetDevice(0), 207004);
    aclrtSetDevice(0);
    msg = aclGetRecentErrMsg();
    printf("%s\n", msg ? msg : "(no text)");
}

static void none(void)
{
    const char *msg;
    uint32_t n = 9;

    OK(aclrtGetDeviceCount(&n));
    CHECK(n == 0);
    CHECK(aclrtGetSocName() == NULL);
    CODE(aclInit(NULL), 500000);
    CODE(aclrtSetDevice(0), 107001);
    aclrtSetDevice(0);
    msg = aclGetRecentErrMsg();
    printf("%s\n", msg ? msg : "(no text)");
    OK(aclFinalize());
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "none";
    char name[64];

    snprintf(name, sizeof(name), "acl-bad %s", what);
    if (strcmp(what, "busy") == 0) {
        busy();
    } else if (strcmp(what, "visible") == 0) {
        visible();
    } else if (strcmp(what, "unbound") == 0) {
        unbound();
    } else {
        none();
    }
    return t_end(name);
}
