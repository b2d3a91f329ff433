# cmake --install installs the harness, the headers, the libraries and a CMake package. Through the package another project links with
# latchlab::map or latchlab::latchlab, or makes a harness with an index of its own. Builds without CMake ask pkg-config.

include(GNUInstallDirs)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/latchlab")

install(TARGETS harness)
install(TARGETS server OPTIONAL)
if(TARGET rocksdb_tier)
  install(TARGETS rocksdb_tier OPTIONAL)
endif()
install(TARGETS latchlab latchlab_map latchlab_harness EXPORT latchlabTargets)
install(EXPORT latchlabTargets NAMESPACE latchlab:: DESTINATION "${package_dir}")

# Headers that only tests need are left out, and the one that needs UCX, which no other header includes.
foreach(folder src sync indexes library workloads harness)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/latchlab"
    FILES_MATCHING PATTERN "*.h" PATTERN "*test*" EXCLUDE PATTERN "ucx_channel.h" EXCLUDE
    PATTERN "example*" EXCLUDE PATTERN "latchlab" EXCLUDE)
endforeach()
# The header for programs: <latchlab/map.h>.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/library/latchlab" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# Each folder of examples is a project of its own: an index, a program, and a harness with that index; and programs with a map.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/indexes/example" DESTINATION "${CMAKE_INSTALL_DATADIR}/latchlab")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/library/examples/" DESTINATION "${CMAKE_INSTALL_DATADIR}/latchlab/map_examples")
# Where systemd looks in /usr/local.
install(FILES services/kv/latchlab-kv.service DESTINATION lib/systemd/system)
install(FILES docs/server.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
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

# The paths of latchlab.pc are relative to its own folder, so that an installed tree may be moved.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH prefix_from_pc "/${pc_dir}" "/")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
list(JOIN latchlab_target_flags " " pc_flags)
configure_file(cmake/latchlab.pc.in latchlab.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/latchlab.pc" DESTINATION "${pc_dir}")
