/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-operator calls (aclop*) need a compiler for AI cores, which this card
 * does not have: the header is there so that acl.h may be included.
 */
#ifndef INC_EXTERNAL_ACL_ACL_OP_H_
#define INC_EXTERNAL_ACL_ACL_OP_H_

#include "acl_base.h"

#endif /* INC_EXTERNAL_ACL_ACL_OP_H_ */
