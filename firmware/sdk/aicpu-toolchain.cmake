# CMake toolchain file for kernels of the card's AICPU cores:
#
#   cmake -DCMAKE_TOOLCHAIN_FILE=$ASCEND_HOME_PATH/lib64/cmake/atlas350/aicpu-toolchain.cmake
#   add_library(my_kernel SHARED my_kernel.cc)
#
# SPDX-License-Identifier: Apache-2.0

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
get_filename_component(ATLAS350_HOME "${CMAKE_CURRENT_LIST_DIR}/../../.."
                       REALPATH)
set(CMAKE_C_COMPILER "${ATLAS350_HOME}/bin/atlas350-aicpu-gcc")
set(CMAKE_CXX_COMPILER "${ATLAS350_HOME}/bin/atlas350-aicpu-g++")
# The compilers make libraries, so a trial program does not link.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
