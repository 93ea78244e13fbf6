/*
 * Atlas 350 virtual card: the fabric object.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cards join a fabric when they are realized, are found by others when that is
 * done, and leave when they are unrealized; all with the big lock. Users of a
 * card on other threads hold its slot (fabric.h), and leaving waits for them.
 */
#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/atomic.h"
#include "qemu/memalign.h"
#include "qemu/queue.h"
#include "qom/object_interfaces.h"
#include "fabric.h"

/* The shapes of the boards (spec/hw/pci.md), and a mesh of any size. */
static const struct {
    const char *name;
    uint32_t max_cards;
} fabric_shapes[] = {
    { "mesh", A350_CARDS_MAX },
    { "single", 1 },
    { "bridge", 2 },
    { "quad", 4 },
};

/* The fabric of cards that name none; it exists while it has cards. */
static A350Fabric *default_fabric;

static A350Fabric *fabric_default_get(void)
{
    if (!default_fabric) {
        default_fabric = A350_FABRIC(object_new(TYPE_A350_FABRIC));
    }
    return default_fabric;
}

static void fabric_default_put(A350Fabric *f)
{
    if (f == default_fabric && f->count == 0) {
        default_fabric = NULL;
        object_unref(OBJECT(f));
    }
}

static const char *fabric_name(A350Fabric *f)
{
    const char *id = object_get_canonical_path_component(OBJECT(f));

    return id ? id : "default";
}

static bool fabric_choose_index(A350Fabric *f, uint32_t *index, Error **errp)
{
    uint32_t i;

    if (*index == A350_ID_ANY) {
        for (i = 0; i < f->max_cards; i++) {
            if (!f->slot[i].taken) {
                *index = i;
                return true;
            }
        }
        error_setg(errp, "fabric '%s' of shape '%s' is full: it joins at most "
                   "%u cards", fabric_name(f), f->shape, f->max_cards);
        return false;
    }
    if (*index >= f->max_cards) {
        error_setg(errp, "card index %u does not fit fabric '%s' of shape "
                   "'%s': 0 to %u", *index, fabric_name(f), f->shape,
                   f->max_cards - 1);
        return false;
    }
    if (f->slot[*index].taken) {
        error_setg(errp, "card index %u is taken in fabric '%s'", *index,
                   fabric_name(f));
        return false;
    }
    return true;
}

bool a350_fabric_join(A350Card *c, Object *obj, Error **errp)
{
    A350Fabric *f;
    uint32_t index = c->index;

    if (obj && !object_dynamic_cast(obj, TYPE_A350_FABRIC)) {
        error_setg(errp, "'%s' is not a fabric: it is of type '%s', not '%s'",
                   object_get_canonical_path_component(obj),
                   object_get_typename(obj), TYPE_A350_FABRIC);
        return false;
    }
    f = obj ? A350_FABRIC(obj) : fabric_default_get();
    if (!fabric_choose_index(f, &index, errp)) {
        fabric_default_put(f);
        return false;
    }
    object_ref(OBJECT(f));
    c->fabric = f;
    c->index = index;
    c->dev_base = A350_DEV_BASE(index);
    a350_eid_make(c->eid, f->id, index);
    f->count++;
    f->slot[index].taken = true;
    return true;
}

void a350_fabric_publish(A350Card *c)
{
    /* All of the card is there before others find it. */
    qatomic_store_release(&c->fabric->slot[c->index].card, c);
}

void a350_fabric_leave(A350Card *c)
{
    A350Fabric *f = c->fabric;
    A350FabricSlot *s;

    if (!f) {
        return;
    }
    s = &f->slot[c->index];
    qatomic_set(&s->card, NULL);
    /* Pairs with a350_fabric_get. */
    smp_mb();
    while (qatomic_read(&s->users)) {
        g_usleep(10);
    }
    a350_fabric_drop_inbound(c);
    c->fabric = NULL;
    s->taken = false;
    f->count--;
    object_unref(OBJECT(f));
    fabric_default_put(f);
}

A350Card *a350_fabric_card(A350Fabric *f, uint32_t index)
{
    return index < A350_CARDS_MAX ? qatomic_read(&f->slot[index].card) : NULL;
}

A350Card *a350_fabric_find(A350Fabric *f, const uint8_t eid[A350_EID_LEN])
{
    A350Card *c = a350_fabric_card(f, a350_eid_card(eid));

    return c && !memcmp(c->eid, eid, A350_EID_LEN) ? c : NULL;
}

uint32_t a350_fabric_count(A350Fabric *f)
{
    return f->count;
}

/* ---- the object ---- */

static char *fabric_get_shape(Object *obj, Error **errp)
{
    return g_strdup(A350_FABRIC(obj)->shape);
}

static void fabric_set_shape(Object *obj, const char *value, Error **errp)
{
    A350Fabric *f = A350_FABRIC(obj);
    size_t i;

    if (f->count) {
        error_setg(errp, "the shape of a fabric with cards is fixed");
        return;
    }
    for (i = 0; i < ARRAY_SIZE(fabric_shapes); i++) {
        if (!strcmp(value, fabric_shapes[i].name)) {
            g_free(f->shape);
            f->shape = g_strdup(value);
            f->max_cards = fabric_shapes[i].max_cards;
            return;
        }
    }
    error_setg(errp, "there is no fabric shape '%s': mesh (up to %u cards), "
               "single (1), bridge (2) or quad (4)", value, A350_CARDS_MAX);
}

static void fabric_get_id(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    visit_type_uint64(v, name, &A350_FABRIC(obj)->id, errp);
}

static void fabric_set_id(Object *obj, Visitor *v, const char *name,
                          void *opaque, Error **errp)
{
    A350Fabric *f = A350_FABRIC(obj);
    uint64_t id;

    if (!visit_type_uint64(v, name, &id, errp)) {
        return;
    }
    if (f->count) {
        error_setg(errp, "the id of a fabric with cards is fixed");
        return;
    }
    f->id = id;
}

static bool fabric_can_be_deleted(UserCreatable *uc)
{
    return A350_FABRIC(uc)->count == 0;
}

static void fabric_instance_init(Object *obj)
{
    A350Fabric *f = A350_FABRIC(obj);

    f->ops = &a350_fabric_local_ops;
    f->shape = g_strdup(fabric_shapes[0].name);
    f->max_cards = fabric_shapes[0].max_cards;
    f->slot = qemu_memalign(sizeof(*f->slot),
                            A350_CARDS_MAX * sizeof(*f->slot));
    memset(f->slot, 0, A350_CARDS_MAX * sizeof(*f->slot));
}

static void fabric_instance_finalize(Object *obj)
{
    A350Fabric *f = A350_FABRIC(obj);

    g_free(f->shape);
    qemu_vfree(f->slot);
}

static void fabric_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->can_be_deleted = fabric_can_be_deleted;
    object_class_property_add_str(oc, "shape", fabric_get_shape,
                                  fabric_set_shape);
    object_class_property_set_description(oc, "shape",
        "mesh (default), single, bridge or quad");
    object_class_property_add(oc, "fabric-id", "uint64", fabric_get_id,
                              fabric_set_id, NULL, NULL);
    object_class_property_set_description(oc, "fabric-id",
        "the first eight bytes of the end point addresses of its cards");
}

static const TypeInfo fabric_info = {
    .name = TYPE_A350_FABRIC,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(A350Fabric),
    .instance_init = fabric_instance_init,
    .instance_finalize = fabric_instance_finalize,
    .class_init = fabric_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    }
};

static void fabric_register_types(void)
{
    type_register_static(&fabric_info);
}

type_init(fabric_register_types)
