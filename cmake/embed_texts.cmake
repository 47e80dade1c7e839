# Script mode: writes STEM.h and STEM.cpp holding the texts of FILES ("|"-separated paths).
string(REPLACE "|" ";" files "${FILES}")
set(header "#pragma once\n\n#include <span>\n\nnamespace tapeless {\n
struct EmbeddedText {\n  const char* name;\n  const char* text;\n};\n
std::span<const EmbeddedText> ${NAME}();\n\n}  // namespace tapeless\n")
set(source "#include \"tapeless/${FOLDER}/${NAME}.h\"\n
namespace tapeless {\n
static constexpr EmbeddedText kTexts[] = {\n")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND source "    {\"${name}\", R\"__text__(${text})__text__\"},\n")
endforeach()
string(APPEND source "};\n
std::span<const EmbeddedText> ${NAME}() { return kTexts; }\n\n}  // namespace tapeless\n")
file(WRITE ${STEM}.h "${header}")
file(WRITE ${STEM}.cpp "${source}")
