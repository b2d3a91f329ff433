#pragma once
// The address of the map for programs: #include <latchlab/map.h>
#include "library/map.h"
