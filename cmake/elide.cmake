# The library that ./bench elide preloads (services/elide), and the program that asks before whether the processor elides.

# Programs of C load it, so it needs the C library alone: no exceptions, and of the C++ library only what is in headers.
add_library(latchlab_elide SHARED EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/services/elide/preload.cc"
  "${PROJECT_SOURCE_DIR}/services/elide/report.cc")
# It is never unloaded: a thread that ends calls into it.
set_target_properties(latchlab_elide PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_compile_features(latchlab_elide PRIVATE cxx_std_20)
target_compile_options(latchlab_elide PRIVATE ${latchlab_target_flags} ${latchlab_warnings} -fno-exceptions -fno-rtti)
target_link_options(latchlab_elide PRIVATE ${latchlab_link_flags} -Wl,--as-needed -Wl,-z,defs -Wl,-z,nodelete
  "-Wl,--version-script=${PROJECT_SOURCE_DIR}/services/elide/exports.txt")
set_property(TARGET latchlab_elide APPEND PROPERTY LINK_DEPENDS "${PROJECT_SOURCE_DIR}/services/elide/exports.txt")
target_include_directories(latchlab_elide PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(latchlab_elide PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)

add_executable(latchlab_elide_probe EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/services/elide/probe.cc"
  "${PROJECT_SOURCE_DIR}/src/arch/features.cc")
target_compile_features(latchlab_elide_probe PRIVATE cxx_std_20)
target_compile_options(latchlab_elide_probe PRIVATE ${latchlab_target_flags} ${latchlab_warnings})
target_link_options(latchlab_elide_probe PRIVATE ${latchlab_link_flags})
target_include_directories(latchlab_elide_probe PRIVATE "${PROJECT_SOURCE_DIR}")
target_link_libraries(latchlab_elide_probe PRIVATE Threads::Threads)
add_dependencies(latchlab_elide latchlab_elide_probe)

# What its test runs.
add_executable(locks_program EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/services/elide/locks_program.cc")
set_target_properties(locks_program PROPERTIES ENABLE_EXPORTS ON)
target_compile_features(locks_program PRIVATE cxx_std_20)
target_compile_options(locks_program PRIVATE ${latchlab_warnings})
target_link_libraries(locks_program PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
add_library(locks_module MODULE EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/services/elide/locks_module.cc")
target_compile_options(locks_module PRIVATE ${latchlab_warnings})
target_link_libraries(locks_module PRIVATE Threads::Threads)
add_dependencies(locks_program locks_module)
