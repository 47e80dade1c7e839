# External libraries, all from the distribution. Folders name the targets they use in LINK.
# Installed beside tapelessConfig.cmake too, so that users find the same ones.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(ZLIB REQUIRED)
find_package(zstd REQUIRED)
# LLVM is API-compatible only within one major.minor; the folder codegen/ alone uses it.
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
