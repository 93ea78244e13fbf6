/* SPDX-License-Identifier: Apache-2.0 */
/* Types of offline models: none here, see acl_mdl.h. */
#ifndef INC_EXTERNAL_ACL_ACL_BASE_MDL_H_
#define INC_EXTERNAL_ACL_ACL_BASE_MDL_H_

#endif /* INC_EXTERNAL_ACL_ACL_BASE_MDL_H_ */
