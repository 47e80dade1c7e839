# Functions that the folders call.
include_guard()

# tapeless_library(<folder> SOURCES a.cpp... DEPS other folders... LINK external targets...)
#
# Makes the static library tapeless_<folder> (alias tapeless::<folder>). Without SOURCES the
# folder has headers only. DEPS and LINK are public: headers include headers.
function(tapeless_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LINK")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tapeless_library(${folder}): unknown: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target tapeless_${folder})
  set(scope PUBLIC)
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(tapeless::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} ${scope} cxx_std_20)
  list(TRANSFORM arg_DEPS PREPEND tapeless::)
  target_link_libraries(${target} ${scope} ${arg_DEPS} ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY TAPELESS_LIBRARIES ${target})
endfunction()

# tapeless_link_llvm(<folder> components...): the static LLVM libraries behind these components.
function(tapeless_link_llvm folder)
  separate_arguments(definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  llvm_map_components_to_libnames(libraries ${ARGN})
  target_include_directories(tapeless_${folder} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  target_compile_definitions(tapeless_${folder} PRIVATE ${definitions})
  target_link_libraries(tapeless_${folder} PRIVATE ${libraries})
endfunction()

# tapeless_embed_texts(<folder> <name> FILES a.tir...)
#
# Compiles text files into the folder's library. The generated tapeless/<folder>/<name>.h declares
#   struct EmbeddedText { const char* name; const char* text; };
#   std::span<const EmbeddedText> <name>();
# where name is the file's name without directory and extension.
function(tapeless_embed_texts folder name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FILES")
  list(TRANSFORM arg_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(stem ${CMAKE_CURRENT_BINARY_DIR}/generated/tapeless/${folder}/${name})
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake)
  list(JOIN arg_FILES "|" files)
  add_custom_command(
    OUTPUT ${stem}.h ${stem}.cpp
    COMMAND ${CMAKE_COMMAND} -DSTEM=${stem} -DNAME=${name} -DFOLDER=${folder} "-DFILES=${files}"
            -P ${script}
    DEPENDS ${arg_FILES} ${script}
    VERBATIM)
  target_sources(tapeless_${folder} PRIVATE ${stem}.cpp ${stem}.h)
  target_include_directories(tapeless_${folder} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
endfunction()
