# cmake --install installs the harness, the headers, the libraries and a CMake package. Through the package another project links with
# latchlab::latchlab, or makes a harness with an index of its own.

include(GNUInstallDirs)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/latchlab")

install(TARGETS harness)
install(TARGETS latchlab latchlab_harness EXPORT latchlabTargets)
install(EXPORT latchlabTargets NAMESPACE latchlab:: DESTINATION "${package_dir}")

# Headers that only tests need are left out.
foreach(folder src sync indexes workloads harness)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/latchlab"
    FILES_MATCHING PATTERN "*.h" PATTERN "*test*" EXCLUDE PATTERN "example" EXCLUDE)
endforeach()
# The example is a project of its own: an index, a program, and a harness with that index.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/indexes/example" DESTINATION "${CMAKE_INSTALL_DATADIR}/latchlab")
# Where man and bash-completion look.
install(FILES docs/man/harness.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES docs/completion/harness.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME harness)
install(FILES "${latchlab_main}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/latchlab/harness")

include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/latchlabConfig.cmake.in latchlabConfig.cmake INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(latchlabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/latchlabConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/latchlabConfigVersion.cmake"
  cmake/dependencies.cmake cmake/pairs.cmake cmake/matrix.cmake cmake/pairs.cc.in cmake/registry_all.cc.in
  DESTINATION "${package_dir}")
