# SPDX-License-Identifier: Apache-2.0
#
# find_package(atlas350) gives the imported targets atlas350::acl_rt, ::ascendcl,
# ::hccl, ::hcomm, ::cann_hixl, ::c_sec, as far as this SDK has them, and
#
#   atlas350_add_kernel(NAME SOURCE... [INCLUDE DIR...])
#
# which builds libNAME.so for the card's cores from C or C++ sources.

get_filename_component(ATLAS350_ROOT "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

foreach(lib acl_rt ascendcl hccl hcomm cann_hixl llm_datadist c_sec)
  set(file "${ATLAS350_ROOT}/lib64/lib${lib}.so")
  if(EXISTS "${file}" AND NOT TARGET atlas350::${lib})
    add_library(atlas350::${lib} SHARED IMPORTED)
    set_target_properties(atlas350::${lib} PROPERTIES
      IMPORTED_LOCATION "${file}"
      INTERFACE_INCLUDE_DIRECTORIES
        "${ATLAS350_ROOT}/include;${ATLAS350_ROOT}/pkg_inc")
  endif()
endforeach()

function(atlas350_add_kernel name)
  cmake_parse_arguments(arg "" "" "INCLUDE" ${ARGN})
  set(flags "")
  foreach(dir ${arg_INCLUDE})
    list(APPEND flags "-I${dir}")
  endforeach()
  set(sources "")
  foreach(source ${arg_UNPARSED_ARGUMENTS})
    get_filename_component(path "${source}" ABSOLUTE)
    list(APPEND sources "${path}")
  endforeach()
  set(out "${CMAKE_CURRENT_BINARY_DIR}/lib${name}.so")
  add_custom_command(OUTPUT "${out}"
    COMMAND "${ATLAS350_ROOT}/bin/atlas350-aicpu-g++" -O2 -g -shared -fPIC
            ${flags} -o "${out}" ${sources}
    DEPENDS ${sources} VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${out}")
  set_target_properties(${name} PROPERTIES ATLAS350_KERNEL "${out}")
endfunction()
