# Compiler, linker and output settings shared by every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# TL_CHECK is always on, so NDEBUG would only hide bugs in third-party headers: leave it out.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")

# The host compiler must not contract a*b+c: reference results are the same with every compiler.
add_compile_options(-ffp-contract=off)
# Designated initialisers leave out what does not apply; that is the point of them.
add_compile_options(-Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wno-missing-designated-field-initializers)
endif()
if(TAPELESS_WERROR)
  add_compile_options(-Werror)
endif()

if(TAPELESS_SANITIZE)
  add_compile_options(-fsanitize=${TAPELESS_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${TAPELESS_SANITIZE})
endif()

find_program(TAPELESS_CCACHE ccache)
if(TAPELESS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TAPELESS_CCACHE})
endif()
find_program(TAPELESS_MOLD mold)
if(TAPELESS_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
add_link_options(-Wl,--gc-sections)
add_compile_options(-ffunction-sections -fdata-sections)
mark_as_advanced(TAPELESS_CCACHE TAPELESS_MOLD)
