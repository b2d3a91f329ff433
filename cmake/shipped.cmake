# Compiles the shipped workload files and machine files into the library as text, so that the harness knows them by name from any folder.

# latchlab_ship(TEMPLATE GLOB) generates a file from cmake/TEMPLATE.in, with the texts of the files that match, and adds it to
# latchlab_shipped.
function(latchlab_ship template glob)
  file(GLOB paths CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${glob}")
  set(shipped_rows "")
  foreach(path IN LISTS paths)
    file(READ "${path}" text)
    get_filename_component(name "${path}" NAME_WE)
    string(APPEND shipped_rows "      {\"${name}\", R\"file(${text})file\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
  endforeach()
  set(generated "${PROJECT_BINARY_DIR}/generated/${template}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${template}.in" "${generated}" @ONLY)
  list(APPEND latchlab_shipped "${generated}")
  set(latchlab_shipped "${latchlab_shipped}" PARENT_SCOPE)
endfunction()

set(latchlab_shipped "")
latchlab_ship(shipped.cc "workloads/wiscer/*.txt")
latchlab_ship(shipped_machines.cc "src/model/machines/*.toml")
