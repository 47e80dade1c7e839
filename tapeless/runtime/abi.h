#pragma once

#include <cstdint>

// What a compiled kernel and its caller agree on.
extern "C" {

// Runs tasks [task_begin, task_end). `buffers` are element-typed pointers in the order of the
// kernel's buffers (scratch buffers left out), `sizes` the values of its size parameters, and
// `scratch` this thread's scratch memory, aligned to 64 bytes (null if it needs none).
using TapelessKernelFn = void (*)(void* const* buffers, const int64_t* sizes, void* scratch,
                                  int64_t task_begin, int64_t task_end);
}

namespace tapeless {
using KernelFn = TapelessKernelFn;
}
