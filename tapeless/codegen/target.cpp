// Targets: three instruction-set classes. Code depends on the class alone, not on the model of the
// CPU, so that two machines of one class run the same instructions.
#include "tapeless/codegen/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <unistd.h>

#include "tapeless/support/diagnostics.h"

namespace tapeless {
namespace {

struct IsaClass {
  const char* name;
  const char* cpu;
  int vector_bytes;
  int registers;
  bool fma;
  std::initializer_list<const char*> needs;
};

const IsaClass kClasses[] = {
    {"avx512", "x86-64-v4", 64, 32, true, {"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"}},
    {"avx2", "x86-64-v3", 32, 16, true, {"avx2", "fma", "f16c", "bmi2"}},
    {"x86-64", "x86-64", 16, 16, false, {}},
};

using Features = llvm::StringMap<bool>;

bool has_all(const Features& host, const IsaClass& c) {
  for (const char* feature : c.needs) {
    if (!host.lookup(feature)) return false;
  }
  return true;
}

Target target_of(const IsaClass& c, const Features& host) {
  Target t;
  t.host_can_run = has_all(host, c);
  t.machine.name = c.name;
  t.machine.vector_bytes = c.vector_bytes;
  t.machine.vector_registers = c.registers;
  t.machine.fma = c.fma;
  t.machine.bf16_dot = c.vector_bytes == 64 && t.host_can_run && host.lookup("avx512bf16");
  if (const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE); l1 > 0) t.machine.l1_bytes = l1;
  if (const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE); l2 > 0) t.machine.l2_bytes = l2;
  t.cpu = c.cpu;
  if (t.machine.bf16_dot) t.features = "+avx512bf16";
  return t;
}

}  // namespace

Target make_target(std::string_view name) {
  const Features host = llvm::sys::getHostCPUFeatures();
  if (name == "portable") name = "x86-64";
  for (const IsaClass& c : kClasses) {
    if (name == c.name) return target_of(c, host);
    if (name == "native" && has_all(host, c)) return target_of(c, host);
  }
  data_error("unknown CPU `{}`: expected native, avx512, avx2 or portable", name);
}

}  // namespace tapeless
