# cmake --install: headers, static libraries, the command, and find_package(tapeless), which gives
# tapeless::tapeless (everything) and tapeless::<folder>.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY TAPELESS_LIBRARIES)
add_library(tapeless_all INTERFACE)
add_library(tapeless::tapeless ALIAS tapeless_all)
set_target_properties(tapeless_all PROPERTIES EXPORT_NAME tapeless)
target_link_libraries(tapeless_all INTERFACE ${libraries})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tapeless)
install(TARGETS tapeless_all ${libraries} EXPORT tapeless)
install(EXPORT tapeless NAMESPACE tapeless:: FILE tapelessTargets.cmake DESTINATION ${package_dir})
install(DIRECTORY tapeless DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
if(TARGET tapeless)
  install(TARGETS tapeless)
endif()

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/tapelessConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tapelessConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tapelessConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/tapelessConfig.cmake
  ${PROJECT_BINARY_DIR}/tapelessConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/TapelessDependencies.cmake
  DESTINATION ${package_dir})
