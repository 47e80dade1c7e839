#pragma once

#include "tapeless/ir/module.h"

namespace tapeless {

/// Cuts every function of a simplified, call-free module into regions: each becomes a function
/// `<f>.<ops>` and is called by a `fused` op; aliases, constants and C calls stay as they are.
/// With `merge` off every op is a region of its own.
///
///   %h = matmul %x, %w            %y = fused @f.matmul_add_relu %x, %w, %b
///   %a = add %h, %b       ->
///   %y = relu %a
Module fuse(const Module& module, bool merge = true);

}  // namespace tapeless
