/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes of the graph engine. This library has no graph engine: the header is
 * there because acl_base.h includes it.
 */
#ifndef INC_EXTERNAL_GE_GE_ERROR_CODES_H_
#define INC_EXTERNAL_GE_GE_ERROR_CODES_H_

#endif /* INC_EXTERNAL_GE_GE_ERROR_CODES_H_ */
