/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/credit.h"

_Thread_local struct credit credit_here;
