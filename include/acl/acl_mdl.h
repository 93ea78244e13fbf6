/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offline models (aclmdlLoad*, aclmdlExecute*) run on AI cores, which this
 * card does not have: the header is there so that acl.h may be included.
 * Captured graphs (aclmdlRI*) are in acl_rt.h.
 */
#ifndef INC_EXTERNAL_ACL_ACL_MODEL_H_
#define INC_EXTERNAL_ACL_ACL_MODEL_H_

#include "acl_base.h"

#endif /* INC_EXTERNAL_ACL_ACL_MODEL_H_ */
