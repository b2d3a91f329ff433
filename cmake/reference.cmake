# The target `reference` makes the API reference from the headers, by Doxygen, in reference/html of the build folder. A warning of
# Doxygen fails it. Doxygen is optional: nothing else needs it.

find_program(LATCHLAB_DOXYGEN doxygen)
mark_as_advanced(LATCHLAB_DOXYGEN)
if(LATCHLAB_DOXYGEN)
  configure_file(docs/Doxyfile.in Doxyfile @ONLY)
  add_custom_target(reference COMMAND "${LATCHLAB_DOXYGEN}" Doxyfile VERBATIM
    COMMENT "Making ${PROJECT_BINARY_DIR}/reference/html/index.html")
else()
  add_custom_target(reference COMMAND "${CMAKE_COMMAND}" -E echo "reference: doxygen is not installed; run apt-get install doxygen"
    COMMAND "${CMAKE_COMMAND}" -E false VERBATIM)
endif()
