#include "trace/trace-hw_atlas350.h"
