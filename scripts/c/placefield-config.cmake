# Targets placefield::placefield, the shared library, and placefield::static.
get_filename_component(_placefield "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET placefield::placefield)
  add_library(placefield::placefield SHARED IMPORTED)
  set_target_properties(placefield::placefield PROPERTIES
    IMPORTED_LOCATION "${_placefield}/lib/libplacefield.so.@VERSION@"
    IMPORTED_SONAME "libplacefield.so.@ABI@"
    INTERFACE_INCLUDE_DIRECTORIES "${_placefield}/include")
  add_library(placefield::static STATIC IMPORTED)
  set_target_properties(placefield::static PROPERTIES
    IMPORTED_LOCATION "${_placefield}/lib/libplacefield.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_placefield}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()
unset(_placefield)
