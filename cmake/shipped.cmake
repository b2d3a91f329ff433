# Compiles the shipped workload files into the library as text, so that the harness knows them by name from any folder.

file(GLOB shipped CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/workloads/wiscer/*.txt")
set(shipped_rows "")
foreach(path IN LISTS shipped)
  file(READ "${path}" text)
  get_filename_component(name "${path}" NAME_WE)
  string(APPEND shipped_rows "      {\"${name}\", R\"file(${text})file\"},\n")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
endforeach()
set(latchlab_shipped "${PROJECT_BINARY_DIR}/generated/shipped.cc")
configure_file("${PROJECT_SOURCE_DIR}/cmake/shipped.cc.in" "${latchlab_shipped}" @ONLY)
